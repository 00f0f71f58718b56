"""Checks that a file of running brokers is read correctly, and that each error has the line and field."""

from pathlib import Path

import pytest

from records.errors import UserError
from topologies.catalogue.lookup import build
from topologies.runtimes.external.file import ExternalBroker, read

WHOLE = """\
brokers:
  source:
    stomp: stomp+ssl://b-1.example.com:61614
    openwire: ssl://b-1.example.com:61617
    management: https://b-1.example.com:8162/api/jolokia
  sink:
    stomp: stomp://10.0.0.7:61613
credentials_file: secret/credentials.env
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "brokers.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def refusal(folder: Path, text: str) -> str:
    """Return the error for an invalid file, without its path."""
    path = written(folder, text)
    with pytest.raises(UserError) as failed:
        read(path)
    message = str(failed.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    return message.removeprefix(str(path))


def test_a_file_says_of_each_broker_its_uris_by_protocol_and_its_management(tmp_path: Path) -> None:
    file = read(written(tmp_path, WHOLE))
    assert dict(file.brokers) == {
        "source": ExternalBroker(
            "source",
            2,
            {"stomp": "stomp+ssl://b-1.example.com:61614", "openwire": "ssl://b-1.example.com:61617"},
            "https://b-1.example.com:8162/api/jolokia/",
        ),
        "sink": ExternalBroker("sink", 6, {"stomp": "stomp://10.0.0.7:61613"}),
    }
    assert file.credentials_file == tmp_path / "secret" / "credentials.env", "relative to the brokers file"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ":1:1: nothing is written here, but it must be a mapping"),
        ("- a\n", ":1:1: a list, but it must be a mapping"),
        ("brokers: [1\n", ":2:1: not valid YAML: "),
        ("credentials_file: a\n", ":1:1: brokers: missing; list the address of each broker below it"),
        ("brokers: {}\n", ":1:10: brokers: empty; list the address of each broker below it"),
        ("\nbrokers:\n  b:\n", ":3:5: brokers.b: nothing is written here, but it must be a mapping"),
        ("brokers:\n  b: {}\n", ":2:3: brokers.b: no URI; write one for a protocol: openwire, "),
        ("brokers:\n  b:\n    management: http://h:1/\n", ":2:3: brokers.b: no URI"),
        ("brokers:\n  b:\n    stmop: x\n", ":3:5: brokers.b: unknown field 'stmop'; did you mean 'stomp'?"),
        ("brokers:\n  b:\n    web: x\n", ":3:5: brokers.b: unknown field 'web'; known are openwire, core, "),
        ("brokers:\n  b:\n    stomp:\n", ":3:11: brokers.b.stomp: write one value on one line"),
        ("brokers:\n  b:\n    stomp: [x]\n", ":3:12: brokers.b.stomp: write one value on one line"),
        (
            "brokers:\n  b:\n    stomp: tcp://h:1\n",
            ":3:12: brokers.b.stomp: 'tcp://h:1'; write stomp://HOST:PORT or stomp+ssl://HOST:PORT",
        ),
        ("brokers:\n  b:\n    stomp: stomp://h\n", ":3:12: brokers.b.stomp: 'stomp://h'; write stomp://HOST:PORT"),
        ("brokers:\n  b:\n    stomp: stomp://h:70000\n", ":3:12: brokers.b.stomp: 'stomp://h:70000' is not a URI ("),
        ("brokers:\n  b:\n    stomp: stomp://h:1/x\n", ":3:12: brokers.b.stomp: 'stomp://h:1/x'; write"),
        (
            "brokers:\n  b:\n    stomp: stomp://h:1\n    management: h:8161\n",
            ":4:17: brokers.b.management: 'h:8161'; write the address of its Jolokia",
        ),
        *(
            (
                f"brokers:\n  b:\n    stomp: stomp://h:1\n    management: {url}\n",
                f":4:17: brokers.b.management: '{url}' is not a URL (",
            )
            for url in ("https://[h/", "https://h:70000/")
        ),
        ("brokers:\n  b:\n    stomp: stomp://h:1\n  b:\n    stomp: x\n", ":4:3: brokers: 'b' is given twice, first in"),
        ("broker:\n  b: 1\n", ":1:1: unknown field 'broker'; did you mean 'brokers'?"),
    ],
)
def test_an_error_names_line_and_field_and_what_to_write(tmp_path: Path, text: str, message: str) -> None:
    assert refusal(tmp_path, text).startswith(message)


def test_capital_letters_and_a_slash_do_not_make_another_address(tmp_path: Path) -> None:
    file = read(written(tmp_path, "brokers:\n  b:\n    stomp: stomp://Broker.Example.com:1/?heartbeat_ms=5\n"))
    assert file.brokers["b"].uris == {"stomp": "stomp://broker.example.com:1?heartbeat_ms=5"}


@pytest.mark.parametrize(
    "text",
    [
        "brokers:\n  b:\n    stomp: stomp://me:s3cret@h:1\n",
        "brokers:\n  b:\n    stomp: stomp://h:1\n    management: https://me:s3cret@h:1/\n",
        "brokers:\n  b:\n    stomp: stomp://h:1\n    password: s3cret\n",
        "brokers: {b: {stomp: 'stomp://h:1'}}\npassword: s3cret\n",
    ],
)
def test_credentials_in_it_are_refused_and_not_repeated(tmp_path: Path, text: str) -> None:
    message = refusal(tmp_path, text)
    assert "credentials" in message
    assert "s3cret" not in message


def test_a_file_that_is_not_there_or_no_text_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"nowhere\.yaml: cannot be read \(No such file or directory\)"):
        read(tmp_path / "nowhere.yaml")
    (tmp_path / "jar").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match="jar: is not UTF-8 text"):
        read(tmp_path / "jar")


def test_a_broker_that_the_topology_lacks_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r":6: brokers\.sink: no such broker: topology .* has broker-1"):
        read(written(tmp_path, WHOLE.replace("source", "broker-1"))).check(build("single"))


def test_brokers_of_a_network_keep_their_names(tmp_path: Path) -> None:
    named = WHOLE.replace("  sink:\n", "    name: localhost\n  sink:\n")
    file = read(written(tmp_path, named))
    assert [broker.calls_itself for broker in file.brokers.values()] == ["localhost", ""]
    with pytest.raises(UserError, match=r"brokers\.yaml:2: brokers\.source\.name: not in a network: brokers of a"):
        file.check(build("source-and-sink"))


def test_a_broker_of_the_topology_that_the_file_lacks_is_named(tmp_path: Path) -> None:
    text = "brokers:\n  source:\n    stomp: stomp://h:1\n"
    with pytest.raises(UserError, match=r"brokers: sink missing; topology .* has source, sink"):
        read(written(tmp_path, text)).check(build("source-and-sink"))


def test_a_protocol_that_clients_are_to_speak_must_be_there_for_each_broker(tmp_path: Path) -> None:
    file = read(written(tmp_path, WHOLE))
    file.check(build("source-and-sink"), ["stomp"])
    with pytest.raises(UserError, match=r":6: brokers\.sink: no openwire URI.*\(it has: stomp\)"):
        file.check(build("source-and-sink"), ["stomp", "openwire"])
