"""What brokers, links and machines did, by their samples."""

import polars as pl

from analysis.events.questions import Answers, Question
from analysis.events.run import Found, Run, as_table
from analysis.network.link_backlog import link_backlog
from analysis.network.mirror_lag import METRICS, mirror_lag
from analysis.network.regions import by_region
from analysis.network.resources import links, resources


class Network:
    """Tables: resources, links, link_backlog. Summary: mirror and regions. It takes the table latency."""

    done = "followed bridges and resources"

    def questions(self, run: Run) -> dict[str, Question]:
        return {}

    def conclude(self, run: Run, answers: Answers, found: Found) -> None:
        found.tables |= {
            "resources": as_table(resources(run.samples, run.timeline)),
            "links": as_table(links(run.samples)),
            "link_backlog": as_table(link_backlog(run.samples, run.timeline)),
        }
        of_mirrors = as_table(run.samples.filter(pl.col("metric").is_in(METRICS)))
        found.summary |= {
            "mirror": mirror_lag(of_mirrors, run.faults, run.load_began_ns),
            "regions": by_region(found.latency_by_path, run.info.brokers, run.timeline.load_s),
        }
