"""Configures a broker's logging: one line per event on standard output, which the runtime keeps in a file.

The log is part of a run's evidence: when bridges come and go is logged at INFO, noise is not. log4j's own shutdown hook
is off, because it would suppress the broker's last log lines.
"""

LOG_CONFIG_PROPERTY = "log4j2.configurationFile"
"""System property with the path of this file."""

QUIET = ("org.springframework", "org.apache.xbean", "org.apache.activemq.spring", "org.eclipse.jetty")

_HEAD = """\
status = warn
shutdownHook = disable

appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_OUT
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{yyyy-MM-dd'T'HH:mm:ss.SSSXXX} %-5p %c{1} [%t] %m%n%throwable

rootLogger.level = info
rootLogger.appenderRef.console.ref = console

logger.network.name = org.apache.activemq.network
logger.network.level = info
"""


_LOG4J_1 = """\
log4j.rootLogger = INFO, console
log4j.appender.console = org.apache.log4j.ConsoleAppender
log4j.appender.console.target = System.out
log4j.appender.console.layout = org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern = %d{yyyy-MM-dd'T'HH:mm:ss.SSSXXX} %-5p %c{1} [%t] %m%n
"""


def log4j1_properties() -> str:
    """Return the text of log4j.properties, for brokers with log4j 1: the same lines in another syntax."""
    return _LOG4J_1 + "".join(f"log4j.logger.{package} = WARN\n" for package in QUIET)


def log4j2_properties(off: tuple[str, ...] = ()) -> str:
    """Return the text of log4j2.properties; the same for every broker of a kind. ``off``: packages without logging."""
    quiet = (
        f"\nlogger.quiet{n}.name = {package}\nlogger.quiet{n}.level = warn\n" for n, package in enumerate(QUIET, 1)
    )
    silent = (f"\nlogger.off{n}.name = {package}\nlogger.off{n}.level = off\n" for n, package in enumerate(off, 1))
    return _HEAD + "".join((*quiet, *silent))
