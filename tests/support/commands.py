"""Running the command in this process, and files to run it on."""

import csv
import json
import shlex

import numpy as np
from typer.testing import CliRunner

from evenscore.cli import app


def run(*arguments):
    """The outcome of a command; an exception that is no exit is raised."""
    result = CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": "120"})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def refused(*arguments):
    """The sentence that a command refuses its input with."""
    return advised(*arguments)[0]


def advised(*arguments):
    """That sentence, and the command lines that it advises instead, if any."""
    result = run(*arguments)
    assert result.exit_code == 2, (result.exit_code, result.output)
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    told, *ways = result.stderr.splitlines()
    assert told.endswith("."), result.stderr
    assert all(way.startswith("Try: evenscore ") for way in ways), result.stderr
    return told, *(shlex.split(way)[2:] for way in ways)


def people(n=600, seed=0, shift=0.6):
    """Columns of a table: label, score, sex and more."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    sex = rng.choice(["female", "male"], n)
    score = rng.normal(size=n) + y + shift * (sex == "male")
    job = rng.choice(["clerk", "cook", "judge"], n)
    return {
        "repaid": np.where(y == 1, "yes", "no").tolist(),
        "score": score.tolist(),
        "sex": sex.tolist(),
        "age": (40 + 5 * score + 3 * rng.normal(size=n)).round(1).tolist(),
        "income": (y + rng.normal(size=n)).tolist(),
        "job": job.tolist(),
    }


def write(path, columns, **options):
    """Write columns as CSV."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, **options)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


def write_parquet(path, columns):
    import pyarrow as pa
    import pyarrow.parquet

    pyarrow.parquet.write_table(pa.table(columns), path)
    return path


def read(path):
    """The columns of a CSV file as lists of texts."""
    with path.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    return {name: [row[k] for row in rows] for k, name in enumerate(header)}


def numbers(path):
    """What a JSON file holds; of the provenance, what an audit in memory has in common."""
    return _in_common(json.loads(path.read_text(encoding="utf-8")))


def numbers_of(result):
    """The same of an audit in memory."""
    return _in_common(json.loads(result.to_json()))


def _in_common(content):
    if "provenance" in content:
        kept = ("settings", "data_sha256", "declared")
        content["provenance"] = {name: content["provenance"][name] for name in kept}
    return content
