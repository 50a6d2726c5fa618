"""The files of docs/deploy: what they name is there, and the command line takes what they say."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from wayforward.cli.app import app

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "docs" / "deploy"


def instructions():
    """(name, rest) of each line of the container file, lines that go on joined."""
    text = (DEPLOY / "Containerfile").read_text().replace("\\\n", " ")
    return [
        tuple(line.split(" ", 1)) for line in text.splitlines() if line.strip() and not line.startswith("#")
    ]


def checked(arguments, home):
    """What `--check` says of these arguments, in a home of our own."""
    at = arguments.index("--home")
    given = [*arguments[:at], "--home", str(home), *arguments[at + 2 :], "--check"]
    return CliRunner().invoke(app, given)


def test_the_container_file_builds_from_what_is_in_a_clone():
    found = instructions()
    known = {"FROM", "RUN", "COPY", "USER", "VOLUME", "ENTRYPOINT"}  # of dockerfile(5)
    assert {name for name, _ in found} == known and found[0][0] == "FROM"
    for name, rest in found:
        if name == "COPY":
            assert all((ROOT / source).exists() for source in rest.split()[:-1])
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    wanted = next(m[1] for _, rest in found if (m := re.search(r"pip install .*'/build\[(.+)\]'", rest)))
    assert set(wanted.split(",")) <= set(extras)
    users = re.findall(r"useradd .*?(\w+) &&", dict(found[1:2])["RUN"])
    assert users == [next(rest for name, rest in found if name == "USER")]


@pytest.mark.parametrize("file", ["container", "unit"])
def test_the_command_line_takes_what_the_files_say(file, tmp_path):
    if file == "container":
        command = json.loads(dict(instructions())["ENTRYPOINT"])
        command += ["--public-url", "https://plans.example.org"]
    else:
        unit = (DEPLOY / "wayforward.service").read_text().replace("\\\n", " ")
        command = shlex.split(re.search("^ExecStart=(.+)$", unit, re.MULTILINE)[1])
        at = command.index("--database")  # the only thing that is not here
        del command[at : at + 2]
    assert Path(command[0]).name == "wayforward"
    result = checked(command[1:], tmp_path / "home")
    assert result.exit_code == 0 and "Nothing speaks against" in result.output, result.output


def test_the_proxy_tells_who_comes_and_writes_no_code_down():
    text = re.sub(r"#.*", "", (DEPLOY / "nginx.conf").read_text())
    assert text.count("{") == text.count("}")
    assert all(line.strip()[-1] in ";{}" for line in text.splitlines() if line.strip())
    for said in ("X-Forwarded-For $remote_addr", "X-Forwarded-Proto https", "access_log off", "Host $host"):
        assert said in text


@pytest.mark.skipif(not (shutil.which("nginx") and shutil.which("openssl")), reason="nginx is not installed")
def test_nginx_takes_the_file(tmp_path):
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    make = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=plans.example.org"
    subprocess.run([*make.split(), "-keyout", key, "-out", certificate], check=True, capture_output=True)
    site = (DEPLOY / "nginx.conf").read_text()
    for letsencrypt, ours in (("fullchain.pem", certificate), ("privkey.pem", key)):
        site = site.replace(f"/etc/letsencrypt/live/plans.example.org/{letsencrypt}", str(ours))
    (tmp_path / "nginx.conf").write_text(
        f"pid {tmp_path}/pid; error_log {tmp_path}/log; events {{}} http {{ {site} }}"
    )
    done = subprocess.run(["nginx", "-t", "-c", tmp_path / "nginx.conf"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
