"""Tokens in a CSV file, in the format of ``--token-auth-file``: ``token,user,uid,"group1,group2"``."""

from __future__ import annotations

import csv
from pathlib import Path

from setpoint.apiserver.http_types import UserInfo


def read_tokens(path: Path) -> dict[str, UserInfo]:
    """The users in the file, by token; if several lines have the same token, the last one is used.

    Raises:
        OSError: the file can't be read.
        ValueError: the file is not CSV or a line is incomplete; the message names the file and the incomplete line.
    """
    users: dict[str, UserInfo] = {}
    try:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.reader(file, strict=True)
            for row in reader:
                if not row:
                    continue
                if len(row) < 3:
                    location = f"{path}, line {reader.line_num}"
                    raise ValueError(f"{location}: {len(row)} columns, but these 3 are needed: token, user name, uid")
                token, name, uid, *more = row
                if token:
                    groups = tuple(more[0].split(",")) if more and more[0] else ()
                    users[token] = UserInfo(name, uid, groups)
    except (csv.Error, UnicodeDecodeError) as problem:
        raise ValueError(f"{path} is not a file of comma-separated values: {problem}") from None
    return users
