"""The commands. Each reads its options, calls the library, and says what came out; imports wait inside."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wayforward.cli.console import Commanding, Commands, say, table, tell, write_json
from wayforward.cli.exit_codes import NOBODY
from wayforward.deadline import Deadline
from wayforward.errors import DataError, MissingExtra

if TYPE_CHECKING:
    from wayforward.cli.inputs import Inputs

app = Commanding(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # a traceback with values would print people's rows
    rich_markup_mode=None,
    help="Why a model said no, and what a person can do about it.",
    epilog="Exit codes: 0 done; 1 done, and nobody got an option; 2 the input is at fault; 3 interrupted; 4 a file "
    "cannot be written; 5 not enough memory.",
)
schema_app = Commanding(cls=Commands, no_args_is_help=True, help="Make and check schema files.")
app.add_typer(schema_app, name="schema")
world_app = Commanding(cls=Commands, no_args_is_help=True, help="Fit worlds to tables, and check them.")
app.add_typer(world_app, name="world")
study_app = Commanding(
    cls=Commands, no_args_is_help=True, help="Studies with participants: protocols and statistics."
)
app.add_typer(study_app, name="study")
bench_app = Commanding(cls=Commands, invoke_without_command=True)
app.add_typer(bench_app, name="bench")

# -- options that several commands share --

Data = Annotated[
    str | None,
    typer.Option(
        "--data",
        help="A data set by name (see: wayforward datasets); compas:benchmark: another set of who can change what.",
        rich_help_panel="People",
    ),
]
Train = Annotated[Path | None, typer.Option("--train", help="A table of past people: CSV or Parquet.")]
Label = Annotated[str | None, typer.Option("--label", help="The column of --train that holds the decision.")]
Favourable = Annotated[
    list[str] | None, typer.Option("--favourable", help="The label that people want; repeat it for several.")
]
People = Annotated[
    Path | None,
    typer.Option("--people", help="A table of people to answer. Left out: those whom the model refuses."),
]
SchemaFile = Annotated[
    Path | None, typer.Option("--schema", help="A schema file (YAML). Left out: inferred from --train.")
]
ModelName = Annotated[
    str,
    typer.Option(
        "--model", help="lr, mlp, rf, gb, xgb or lgbm are trained on the data; anything else is a model file."
    ),
]
MethodName = Annotated[str, typer.Option("--method", help="See: wayforward methods.")]
Language = Annotated[
    str | None, typer.Option("--language", help="The language of what people read: en or de.")
]
Seed = Annotated[int, typer.Option("--seed", help="One whole number that fixes every random choice.")]
Options = Annotated[int, typer.Option("--k", min=1, help="Options for each person.")]
Number = Annotated[int | None, typer.Option("--n", min=1, help="At most this many people.")]
Threshold = Annotated[
    float | None,
    typer.Option("--target-threshold", help="Probability of the favourable decision that is needed."),
]
ModelRows = Annotated[int | None, typer.Option("--budget", min=1, help="Model rows for each person.")]
AnswersFile = Annotated[Path, typer.Argument(help="What recommend --out wrote, a file or a folder.")]
ExportFolder = Annotated[Path, typer.Option("--out", help="The folder of the export.")]
WorldName = Annotated[
    str,
    typer.Option(
        "--world",
        help="What follows from an action: independent, scm (the known equations of --data loan), or a "
        "file: equations (.yaml) or what 'wayforward world fit' wrote.",
    ),
]
CostName = Annotated[
    str,
    typer.Option("--cost", help="l0, l1, l2, linf, mad, percentile-max, percentile-total, mahalanobis ..."),
]
PlausibilityName = Annotated[
    str | None,
    typer.Option(
        "--plausibility",
        help="Ask for it: domain, neighbours, lof, isolation-forest, kernel-density, prototype or at-least-as-likely "
        "(in --world).",
    ),
]
Wishes = Annotated[
    Path | None,
    typer.Option(
        "--preferences", help="Limits and weights of each person: JSON, or CSV with one wish a row."
    ),
]
ProfileName = Annotated[
    str,
    typer.Option(
        "--profile",
        help="How ranks and scores of --preferences become weights: constant, linear, convex or concave.",
    ),
]
ConfidenceLevel = Annotated[
    float | None,
    typer.Option(
        "--confidence",
        help="In a --world that is uncertain: options must succeed with this probability, such as 0.95.",
    ),
]
Robustness = Annotated[
    list[str] | None,
    typer.Option(
        "--robust",
        help="What options must withstand: within-delta:0.05, noise:0.02,alpha=0.1, models:5 (trained "
        "again) or stable:0.5; repeat it for several.",
    ),
]
Crowd = Annotated[
    int | None,
    typer.Option(
        "--crowd",
        min=2,
        help="Options set no value that fewer people of the table have.",
        rich_help_panel="Disclosure",
    ),
]
Grid = Annotated[
    float | None,
    typer.Option(
        "--grid",
        min=1e-6,
        max=1.0,
        help="Options set numbers on a public grid: its step as a share of where most people lie, such as 0.05.",
        rich_help_panel="Disclosure",
    ),
]
Beyond = Annotated[
    float | None,
    typer.Option(
        "--beyond",
        min=0,
        help="Options lie once to twice so far beyond the boundary, by chance, in log-odds: they do not point at it.",
        rich_help_panel="Disclosure",
    ),
]
Epsilon = Annotated[
    float | None,
    typer.Option(
        "--epsilon",
        help="Methods that start from observed people start from made-up ones, private towards the table with this "
        "epsilon, such as 1 (delta 1e-6).",
        rich_help_panel="Disclosure",
    ),
]
NoiseKey = Annotated[
    Path | None,
    typer.Option(
        "--noise-key",
        help="Of --epsilon and --beyond: a file with the secret that the noise is drawn by, made where it is not "
        "there. Keep it, and to yourself: with it, asking again tells no more.",
        rich_help_panel="Disclosure",
    ),
]
SubPopulationFlag = Annotated[
    bool,
    typer.Option(
        "--sub-population",
        help="Answer for people like each person: what an act moves takes fresh noise, not the person's own.",
    ),
]
MetricsName = Annotated[
    str, typer.Option("--metrics", help="How much to measure: headline, standard or all.")
]
Device = Annotated[
    str | None, typer.Option("--device", help="Where torch works: cpu, cuda, cuda:1 ..., auto.")
]
Workers = Annotated[int, typer.Option("--workers", min=1, help="How many work at once. Changes no answer.")]
On = Annotated[
    str | None,
    typer.Option(
        "--on",
        help="Workers are threads, processes or ray (a cluster). Left out: what suits the method.",
    ),
]
Json = Annotated[Path | None, typer.Option("--json", help="Write the numbers as JSON; '-' for the output.")]


def _inputs(options: Mapping[str, Any], **other: Any) -> Inputs:
    """Return those options of a command that say what the problem is; what may be repeated becomes a tuple."""
    from wayforward.cli.inputs import Inputs

    if options.get("preferences") is None and options.get("profile", "linear") != "linear":
        raise DataError(
            "--profile says how ranks and scores of --preferences become weights. Give --preferences, or leave it out."
        )
    given = {name: options[name] for name in Inputs.__dataclass_fields__ if name in options} | other
    return Inputs(**given | {name: tuple(given[name] or ()) for name in ("favourable", "robust")})


@app.command()
def recommend(
    data: Data = None,
    train: Train = None,
    label: Label = None,
    favourable: Favourable = None,
    people: People = None,
    schema: SchemaFile = None,
    model: ModelName = "gb",
    method: MethodName = "local-search",
    n: Number = None,
    k: Options = 1,
    seed: Seed = 0,
    target_threshold: Threshold = None,
    world: WorldName = "independent",
    cost: CostName = "l1",
    plausibility: PlausibilityName = None,
    preferences: Wishes = None,
    profile: ProfileName = "linear",
    confidence: ConfidenceLevel = None,
    robust: Robustness = None,
    sub_population: SubPopulationFlag = False,
    budget: ModelRows = None,
    deadline: Annotated[
        float | None, typer.Option("--deadline", help="Seconds in all; what is found by then is written.")
    ] = None,
    deadline_person: Annotated[
        float | None, typer.Option("--deadline-person", help="Seconds for each person, on average.")
    ] = None,
    acts: Annotated[
        Path | None,
        typer.Option("--acts", help="For action-sequences: what people can do, step by step (YAML)."),
    ] = None,
    device: Device = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Write the answers: .parquet or .json, or a folder for --people of any size, shard by shard.",
        ),
    ] = None,
    csv: Annotated[
        Path | None, typer.Option("--csv", help="Write one row for each person and option.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", help="Write one HTML page about all answers.")
    ] = None,
    letters: Annotated[
        Path | None,
        typer.Option("--letters", help="Write a letter to everybody who was refused, into this folder."),
    ] = None,
    contact: Annotated[
        str | None, typer.Option("--contact", help="Of letters: whom to ask, in one line.")
    ] = None,
    until: Annotated[
        str | None,
        typer.Option("--until", help="Of letters: the last day on which the plans hold, such as 2027-03-31."),
    ] = None,
    language: Language = None,
    json: Json = None,
    metrics: MetricsName = "standard",
    part: Annotated[
        int, typer.Option("--part", min=1, help="People between two saves. Changes no answer.")
    ] = 2048,
    workers: Workers = 1,
    on: On = None,
    rows_per_shard: Annotated[
        int, typer.Option("--rows-per-shard", min=1, help="Into a folder: people in a shard.")
    ] = 20_000,
    id: Annotated[
        str | None,
        typer.Option(
            "--id", help="A column of --people (left out: of --train) that names them in every output."
        ),
    ] = None,
    form: Annotated[
        str, typer.Option("--form", help="Into a folder: long (values before, set and after) or compact.")
    ] = "long",
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Into a folder: delete answers to another question there.")
    ] = False,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            "--kind",
            help="Instead of the k cheapest, one option of each kind: cheapest, fewest (changes), lasting (likely to "
            "hold when the model is trained again); repeat it.",
        ),
    ] = None,
    room: Annotated[
        float,
        typer.Option(
            "--room",
            min=0.0,
            max=1.0,
            help="Let plans go a little farther than they must, so that they hold if a figure is a bit off, where it "
            "makes them at most this share dearer; 0 for none.",
        ),
    ] = 0.05,
    certify: Annotated[
        bool,
        typer.Option(
            "--certify", help="Prove how much cheaper a plan can be than the one that somebody is shown."
        ),
    ] = False,
    crowd: Crowd = None,
    grid: Grid = None,
    beyond: Beyond = None,
    epsilon: Epsilon = None,
    noise_key: NoiseKey = None,
) -> None:
    """Find options for everyone whom a model refused, check them, and say how good they are."""
    from wayforward.cli.recommend import answer
    from wayforward.cli.shards import answer_table, is_folder

    question = _inputs(locals())
    given = deadline is not None or deadline_person is not None
    time_given = Deadline(deadline_person, deadline) if given else None
    if out is not None and is_folder(out):
        if csv is not None or report is not None or letters is not None or kind or acts is not None:
            raise DataError(
                "--csv, --report, --letters, --kind and --acts are for answers in one file. Leave them out."
            )
        ends = answer_table(
            question, out, method=method, k=k, budget=budget, deadline=time_given, device=device,
            workers=workers, on=on, rows_per_shard=rows_per_shard, id=id, form=form, fresh=fresh, json=json, room=room,
            certify=certify,
        ).counts()["outcomes"]  # fmt: skip
        if not ends.get("FOUND") and not ends.get("ACCEPTED"):
            raise typer.Exit(NOBODY)
        return
    if form != "long" or fresh:
        raise DataError("--form and --fresh are for --out FOLDER, a folder of answers. Leave them out.")
    got = answer(
        question, method=method, k=k, budget=budget, deadline=time_given, device=device, part=part,
        workers=workers, on=on, out=out, csv=csv, report=report, json=json, metrics=metrics,
        kinds=tuple(kind or ()), id=id, room=room,
        letters=letters, language=language, certify=certify, acts=acts, contact=contact, until=until,
    )  # fmt: skip
    if not got.found.any() and not (got.readable.any() and got.accepted[got.readable].all()):
        raise typer.Exit(NOBODY)


@app.command()
def evaluate(
    recourse: AnswersFile,
    data: Data = None,
    train: Train = None,
    label: Label = None,
    favourable: Favourable = None,
    schema: SchemaFile = None,
    model: Annotated[
        str | None, typer.Option("--model", help="Left out: the one that the file names.")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed")] = None,
    target_threshold: Threshold = None,
    world: Annotated[str | None, typer.Option("--world")] = None,
    cost: Annotated[str | None, typer.Option("--cost")] = None,
    robust: Annotated[
        list[str] | None,
        typer.Option(
            "--robust", help="As in recommend, in place of what was asked for then; 'none' for nothing."
        ),
    ] = None,
    groups: Annotated[
        str | None, typer.Option("--groups", help="A feature with levels; compare its groups.")
    ] = None,
    metrics: MetricsName = "standard",
    json: Json = None,
    workers: Annotated[
        int, typer.Option("--workers", min=1, help="Of a folder: how many processes judge at once.")
    ] = 1,
) -> None:
    """Judge saved answers again, against the model: every metric, with intervals."""
    from wayforward.cli.evaluate import judge

    judge(
        recourse, groups=groups, metrics=metrics, json=json, workers=workers,
        changes={
            "data": data, "train": train, "label": label,
            "favourable": tuple(favourable) if favourable else None,
            "schema": schema, "model": model, "seed": seed, "target_threshold": target_threshold,
            "world": world, "cost": cost,
            "robust": tuple(robust) if robust else None,
        },
    )  # fmt: skip


@app.command()
def recheck(
    answers: AnswersFile,
    model: Annotated[str | None, typer.Option("--model", help="The new model: a name or a file.")] = None,
    data: Data = None,
    train: Train = None,
    label: Label = None,
    favourable: Favourable = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Of a model that is trained: another one, another model.")
    ] = None,
    target_threshold: Threshold = None,
    csv: Annotated[Path | None, typer.Option("--csv", help="Write one row for each plan.")] = None,
    json: Json = None,
) -> None:
    """Say which plans that people were told still hold after the model has changed."""
    from wayforward.cli.recheck import run

    changes = {
        "model": model, "data": data, "train": train, "label": label,
        "favourable": tuple(favourable) if favourable else None,
        "seed": seed, "target_threshold": target_threshold,
    }  # fmt: skip
    counts = run(answers, changes=changes, csv=csv, json=json).counts()
    if counts["lost_all"] and not counts["still_have_one"] and not counts["accepted_now"]:
        raise typer.Exit(NOBODY)


@app.command()
def audit(
    data: Data = None,
    train: Train = None,
    label: Label = None,
    favourable: Favourable = None,
    people: Annotated[
        Path | None,
        typer.Option(
            "--people",
            help="A table of everybody the model decides about, accepted people too.",
            rich_help_panel="People",
        ),
    ] = None,
    schema: SchemaFile = None,
    model: ModelName = "gb",
    method: MethodName = "local-search",
    group: Annotated[
        list[str] | None,
        typer.Option(
            "--group",
            help="Compare along this feature or column of the people's table; repeat. Left out: the sensitive ones.",
        ),
    ] = None,
    cut: Annotated[
        list[str] | None,
        typer.Option(
            "--cut", help="Cut a quantity into groups here: 30, or age:30 where several are; repeat."
        ),
    ] = None,
    n: Annotated[
        int, typer.Option("--n", min=1, help="Look for plans of at most this many refused people, by chance.")
    ] = 5000,
    smallest: Annotated[
        int,
        typer.Option("--smallest", min=2, help="Groups with fewer people answered are told, not compared."),
    ] = 10,
    second: Annotated[
        str,
        typer.Option(
            "--second", help="Gaps again where this method finds a plan, too; 'none' leaves it out."
        ),
    ] = "growing-spheres",
    twins: Annotated[
        int,
        typer.Option(
            "--twins", min=0, help="Compare at most this many with their twins, in a causal --world."
        ),
    ] = 500,
    retrained: Annotated[
        int,
        typer.Option(
            "--retrained",
            min=0,
            help="Train the model so many times again, on resamples, and ask whether plans hold.",
        ),
    ] = 3,
    summary: Annotated[
        list[str] | None,
        typer.Option(
            "--summary",
            help="Few rules for many people: tree, ares, globe-ce or none; repeat. Left out: tree.",
        ),
    ] = None,
    correction: Annotated[
        str, typer.Option("--correction", help="For many comparisons: holm or benjamini-hochberg.")
    ] = "holm",
    honesty: Annotated[
        int,
        typer.Option(
            "--honesty",
            min=0,
            help="Hold the offers to so many people against what else exists, models as good, and false reports.",
        ),
    ] = 0,
    seed: Seed = 0,
    target_threshold: Threshold = None,
    world: WorldName = "independent",
    cost: CostName = "l1",
    plausibility: PlausibilityName = None,
    preferences: Wishes = None,
    profile: ProfileName = "linear",
    confidence: ConfidenceLevel = None,
    robust: Robustness = None,
    sub_population: SubPopulationFlag = False,
    budget: ModelRows = None,
    device: Device = None,
    html: Annotated[
        Path | None, typer.Option("--html", help="Write one page for an auditor, with figures.")
    ] = None,
    csv: Annotated[
        Path | None, typer.Option("--csv", help="Write how much is proved, one row a group.")
    ] = None,
    json: Json = None,
    language: Language = None,
    workers: Workers = 1,
    on: On = None,
) -> None:
    """Measure who has recourse and what it costs, group by group: a page for an auditor, and numbers."""
    from wayforward.cli.audit import look

    question = _inputs(locals(), n=None)
    got = look(
        question, method=method, device=device, groups=tuple(group or ()), cuts=tuple(cut or ()), most=n,
        smallest=smallest, second=None if second == "none" else second, twins=twins, again=retrained,
        summaries=tuple(summary or ("tree",)), correction=correction, budget=budget, html=html, csv=csv,
        json=json, workers=workers, on=on, honest=honesty, language=language,
    )  # fmt: skip
    if not got.overall.found:
        raise typer.Exit(NOBODY)


@app.command()
def society(
    scenario: Annotated[
        list[str],
        typer.Argument(
            help="Scenario files (YAML), or names of examples: loan, balanced. Several are compared."
        ),
    ],
    rounds: Annotated[int | None, typer.Option("--rounds", min=1, help="In place of the file's.")] = None,
    people: Annotated[int | None, typer.Option("--people", min=2, help="In place of the file's.")] = None,
    seed: Annotated[int | None, typer.Option("--seed", min=0, help="In place of the file's.")] = None,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Play each with so many seeds.")] = 1,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            "--checkpoint", help="Kept up to date after every round; the same command goes on (.npz)."
        ),
    ] = None,
    figure: Annotated[
        Path | None, typer.Option("--figure", help="Draw lines over rounds: .png, .svg or .pdf.")
    ] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write one page with all of it.")] = None,
    csv: Annotated[
        Path | None,
        typer.Option(
            "--csv", help="Write one row a round and group; of several scenarios one a figure and group."
        ),
    ] = None,
    json: Json = None,
    workers: Workers = 1,
    on: On = None,
    language: Language = None,
) -> None:
    """Play a society over rounds: people act on advice, a lender retrains, groups move. Several are compared."""
    from wayforward.cli.society import play
    from wayforward.language import use_language

    with use_language(language):
        play(
            scenario, rounds=rounds, people=people, seed=seed, seeds=seeds, checkpoint=checkpoint, figure=figure,
            html=html, csv=csv, json=json, workers=workers, on=on,
        )  # fmt: skip


@app.command()
def warm() -> None:
    """Compile what everyday methods need, once after installing, so that no later process has to."""
    from wayforward.cli.warm import compile_everything

    compile_everything()


@app.command()
def reach(
    data: Data = None,
    train: Train = None,
    label: Label = None,
    favourable: Favourable = None,
    people: People = None,
    schema: SchemaFile = None,
    model: ModelName = "gb",
    n: Number = None,
    seed: Seed = 0,
    target_threshold: Threshold = None,
    world: WorldName = "independent",
    preferences: Wishes = None,
    most: Annotated[
        int, typer.Option("--most", min=1, help="List all that a person can reach up to so many actions.")
    ] = 100_000,
    samples: Annotated[
        int, typer.Option("--samples", min=1, help="Values of a feature that are judged, where it has more.")
    ] = 500,
    json: Json = None,
) -> None:
    """Say whose answer is fixed, with a certificate each, and how often each feature alone turns it."""
    from wayforward.cli.reach import look

    look(_inputs(locals(), robust=None), most=most, samples=samples, json=json)


@app.command()
def reasons(
    data: Data = None,
    train: Train = None,
    label: Label = None,
    favourable: Favourable = None,
    people: People = None,
    schema: SchemaFile = None,
    model: ModelName = "gb",
    n: Number = None,
    seed: Seed = 0,
    target_threshold: Threshold = None,
    world: WorldName = "independent",
    preferences: Wishes = None,
    most: Annotated[
        int, typer.Option("--most", min=1, help="So many reasons a person, the smallest first.")
    ] = 4,
    report: Annotated[
        Path | None, typer.Option("--report", help="Write one HTML page, with plans and what keeps each no.")
    ] = None,
    json: Json = None,
    language: Language = None,
) -> None:
    """Say what keeps each no a no whatever else the person does: the smallest sets of features, proved."""
    from wayforward.cli.reasons import look

    look(_inputs(locals(), robust=None), most=most, json=json, report=report, language=language)


_Past = Annotated[Path, typer.Option("--train", help="What the model learns from.")]
_Wanted = Annotated[str, typer.Option("--favourable", help="The label that is wanted.")]
_Kept = Annotated[list[str] | None, typer.Option("--keep", help="What stays; repeat it for several.")]
_Most = Annotated[int | None, typer.Option("--most", min=1, help="Changes of an option, at most.")]
_Page = Annotated[Path | None, typer.Option("--report", help="Write one HTML page that stands alone.")]


def _of_a_kind(given: dict[str, Any]) -> dict[str, Any]:
    """What the commands of texts and of series ask alike."""
    names = ("method", "k", "keep", "most", "n", "seed", "json", "report", "language")
    return {name: given[name] for name in names} | {"keep": given["keep"] or ()}


@app.command()
def texts(
    train: _Past,
    label: Annotated[str, typer.Option("--label", help="The column of --train that holds the decision.")],
    favourable: _Wanted,
    text: Annotated[str, typer.Option("--text", help="The column that holds texts.")] = "text",
    people: Annotated[Path | None, typer.Option("--people", help="A table of texts to answer.")] = None,
    model: Annotated[str, typer.Option("--model", help="lr, nb, or a .skops file of a pipeline.")] = "lr",
    method: Annotated[str, typer.Option("--method", help="See wayforward methods.")] = "sedc",
    k: Options = 1,
    keep: _Kept = None,
    most: _Most = None,
    n: Number = None,
    seed: Seed = 0,
    json: Json = None,
    report: _Page = None,
    language: Language = None,
) -> None:
    """Say without which words a model would have said yes to a text: a table with a column of texts."""
    from wayforward.cli.kinds import texts as answer

    how = _of_a_kind(locals())
    answer(train, text, label, favourable, people, model, how)


@app.command()
def series(
    train: _Past,
    favourable: _Wanted,
    people: Annotated[Path | None, typer.Option("--people", help="A file of series to answer.")] = None,
    model: Annotated[str, typer.Option("--model", help="rf, lr, or a .skops file of a classifier.")] = "rf",
    method: Annotated[str, typer.Option("--method", help="See wayforward methods.")] = "comte",
    k: Options = 1,
    keep: _Kept = None,
    most: _Most = None,
    n: Number = None,
    seed: Seed = 0,
    json: Json = None,
    report: _Page = None,
    language: Language = None,
) -> None:
    """Say which channels of a time series would have to be others: files of the UCR and UEA archives."""
    from wayforward.cli.kinds import series as answer

    how = _of_a_kind(locals())
    answer(train, favourable, people, model, how)


@app.command()
def attack(
    data: Data = None,
    train: Train = None,
    label: Label = None,
    favourable: Favourable = None,
    people: Annotated[
        Path | None,
        typer.Option(
            "--people",
            help="A table of people whom the model was not trained on. Left out: those that --data held back.",
            rich_help_panel="People",
        ),
    ] = None,
    schema: SchemaFile = None,
    model: ModelName = "gb",
    method: MethodName = "local-search",
    k: Options = 1,
    n: Annotated[
        int, typer.Option("--n", min=20, help="At most this many refused people of each kind ask.")
    ] = 500,
    queries: Annotated[
        list[int] | None,
        typer.Option(
            "--queries", min=2, help="Teach copies by so many answers; repeat. Left out: 25 to 400."
        ),
    ] = None,
    seeds: Annotated[
        int, typer.Option("--seeds", min=1, help="So many copies of each kind, for intervals.")
    ] = 3,
    attribute: Annotated[
        list[str] | None,
        typer.Option("--attribute", help="Infer this feature from plans; repeat. Left out: sensitive ones."),
    ] = None,
    defences: Annotated[
        bool, typer.Option("--defences/--no-defences", help="Measure again with each defence, and its price.")
    ] = True,
    shadows: Annotated[
        int,
        typer.Option(
            "--shadows", min=0, help="Tell members by so many shadow models, on people whom --data held back."
        ),
    ] = 0,
    crowd: Crowd = None,
    grid: Grid = None,
    beyond: Beyond = None,
    epsilon: Epsilon = None,
    seed: Seed = 0,
    target_threshold: Threshold = None,
    world: WorldName = "independent",
    html: Annotated[Path | None, typer.Option("--html", help="Write the page here.")] = None,
    json: Json = None,
    language: Language = None,
) -> None:
    """Attack a service of recourse as a stranger could: what do its answers give away, and what do defences cost?"""
    from wayforward.cli.attack import look

    look(
        _inputs(locals(), n=None, robust=None), method=method, k=k, most=n, queries=queries, seeds=seeds,
        attributes=attribute, defences=defences, shadows=shadows, html=html, json=json, language=language,
    )  # fmt: skip


@app.command()
def explain(
    recourse: Annotated[Path, typer.Argument(help="What recommend --out wrote.")],
    person: Annotated[
        int | None,
        typer.Option("--person", min=0, help="The number of the person, from 0; left out, the first."),
    ] = None,
    id: Annotated[
        str | None,
        typer.Option(
            "--id",
            help="The person by name: of recommend --id, or in a column of texts that are people's own.",
        ),
    ] = None,
    option: Annotated[int | None, typer.Option("--option", min=0, help="One option; left out, all.")] = None,
    language: Language = None,
    json: Json = None,
) -> None:
    """Say in plain words what one person can do."""
    from wayforward.recourse import Recourse

    person = 0 if person is None and id is None else person
    text = Recourse.load(recourse).explain(person, option, id=id, language=language)
    if str(json) != "-":
        tell(text)
    write_json(
        {"person": person} | ({} if id is None else {"id": id}) | {"option": option, "text": text}, json
    )


@app.command()
def dialogue(
    data: Data = None,
    train: Train = None,
    label: Label = None,
    favourable: Favourable = None,
    people: People = None,
    schema: SchemaFile = None,
    model: ModelName = "gb",
    person: Annotated[
        int, typer.Option("--person", min=0, help="The number of the person among those refused, from 0.")
    ] = 0,
    elicitor: Annotated[
        str,
        typer.Option(
            "--elicitor",
            help="How plans are compared: favourite, hare, multi-hare, learned, pear; none: plans one by one.",
        ),
    ] = "favourite",
    base: Annotated[
        str | None, typer.Option("--base", help="The method that makes first plans; see: wayforward methods.")
    ] = None,
    questionnaire: Annotated[
        str,
        typer.Option(
            "--questionnaire",
            help="Asked first: limits, page (all limits on one screen), yes-no, ranking, likert, two joined by +, or "
            "none.",
        ),
    ] = "limits",
    questions: Annotated[
        int | None, typer.Option("--questions", min=1, help="Questions about plans at most.")
    ] = None,
    acts: Annotated[
        Path | None,
        typer.Option(
            "--acts", help="Show plans of these acts only: what people can do, step by step (YAML)."
        ),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option("--state", help="Kept up to date after every answer; the same command goes on."),
    ] = None,
    go_on: Annotated[
        bool, typer.Option("--go-on", help="Go on with --state although the model or the data changed.")
    ] = False,
    replies: Annotated[
        Path | None, typer.Option("--replies", help="Replies, one a line; '-' for the input.")
    ] = None,
    report: Annotated[Path | None, typer.Option("--report", help="Write the dialogue as plain text.")] = None,
    language: Language = None,
    seed: Seed = 0,
    target_threshold: Threshold = None,
    world: WorldName = "independent",
    cost: CostName = "l1",
    plausibility: PlausibilityName = None,
    preferences: Wishes = None,
    profile: ProfileName = "linear",
    confidence: ConfidenceLevel = None,
    robust: Robustness = None,
    json: Json = None,
) -> None:
    """Talk with one person: what they cannot change, which plans they prefer, until one suits them."""
    from wayforward.cli.dialogue import hold
    from wayforward.language import use_language

    question = _inputs(locals(), n=person + 1)
    with use_language(language):
        found = hold(
            question, person, elicitor=elicitor, base=base, questionnaire=questionnaire, questions=questions,
            acts=acts, state=state, go_on=go_on, replies=replies, report=report, json=json,
        )  # fmt: skip
    if not found:
        raise typer.Exit(NOBODY)


@schema_app.command("infer")
def schema_infer(
    source: Annotated[Path, typer.Argument(metavar="TABLE", help="A table: CSV or Parquet.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="Write the schema here; left out, print it.")
    ] = None,
    label: Annotated[str | None, typer.Option("--label", help="A column that is no feature.")] = None,
    immutable: Annotated[
        list[str] | None, typer.Option("--immutable", help="Nobody can change this; repeat.")
    ] = None,
    json: Json = None,
) -> None:
    """Read a table and write a first schema to edit: kinds, bounds, levels."""
    from wayforward.data.user_tables import features_of, read_table
    from wayforward.schema import Schema

    frame = features_of(read_table(source), label, source.name)
    got = Schema.infer(frame)
    if immutable:
        got = got.revise({name: {"actionability": "immutable"} for name in immutable})
    hints = _HINTS
    if got.guesses:
        hints += "# Guessed; confirm or change:\n"
        hints += "".join(f"#   {name}: {guess}\n" for name, guess in got.guesses.items())
    write_json(got.to_dict(), json)
    if out is None:
        if str(json) != "-":
            tell(hints + got.to_yaml(), nl=False)
        return
    from wayforward.cli.console import write_text

    write_text(out, hints + got.to_yaml())
    say(f"{got.d} features written to {out}. Now say who can change what: actionability, direction, rules.")
    for name, guess in got.guesses.items():
        say(f"guessed, to be confirmed: {name}: {guess}")


_HINTS = """\
# What the columns mean. Add to a feature what is true of it:
#   actionability: immutable    nobody can change it        (or mutable: it moves only as a consequence)
#   direction: increase         it can only go up           (or decrease)
#   unit: EUR/month             said with every number
#   sensitive: true             groups are compared along it
#   least_change: 50            no plan asks for less. Proposed below: a round number, at most a fiftieth of the range
#                               in which the middle half of the column's different values lie
# and rules, one a line:  rules: ["after.education >= before.education", "at most 3 changes"]
"""


@schema_app.command("check")
def schema_check(
    source: Annotated[Path, typer.Argument(metavar="SCHEMA", help="A schema file (YAML).")],
    against: Annotated[Path | None, typer.Option("--table", help="Also check that this table fits.")] = None,
    json: Json = None,
) -> None:
    """Check a schema file, its rules, and that a table fits it."""
    from wayforward.data.user_tables import read_table
    from wayforward.schema import Schema

    got = Schema.from_yaml(source)
    got.compiled_rules  # noqa: B018  (parsing is the check)
    people = len(got.encode(read_table(against))) if against is not None else None
    rows = [(f.name, f.kind, f.actionability, f.direction, _domain(f)) for f in got.features]
    if str(json) != "-":
        table(
            f"{source.name}: {got.d} features, {len(got.rules)} rules",
            ("feature", "kind", "who", "direction", "values"),
            rows,
        )
        if people is not None:
            tell(f"All {people:,} rows of {against} fit.")
    write_json({"features": got.d, "rules": len(got.rules), "rows_checked": people}, json)


@schema_app.command("json-schema")
def schema_json_schema(
    out: Annotated[Path, typer.Option("--out", help="Where to write it; '-' for the output.")] = Path("-"),
) -> None:
    """Write the JSON schema of schema files, for editors that complete and check as you type."""
    from wayforward.schema import Schema

    write_json(Schema.json_schema(), out)


def _domain(feature: Any) -> str:
    if feature.has_levels:
        shown = ", ".join(str(level) for level in feature.levels[:4])
        return f"{shown}, ... ({feature.n_levels})" if feature.n_levels > 4 else shown
    low, high = (f"{v:g}" if v is not None else "any" for v in (feature.low, feature.high))
    return f"{low} to {high}" + (f" {feature.unit}" if feature.unit else "")


@world_app.command("fit")
def world_fit(
    graph: Annotated[
        Path,
        typer.Option("--graph", help="The causal graph: .gml, .dot, .csv (cause,effect), .yaml or .json."),
    ],
    train: Annotated[Path, typer.Option("--train", help="A table of past people: CSV or Parquet.")],
    out: Annotated[Path, typer.Option("--out", help="Where to write the world: .safetensors.")],
    kind: Annotated[
        str,
        typer.Option(
            "--kind", help="linear (regressions), flow (normalising flow) or gp (Gaussian processes)."
        ),
    ] = "linear",
    label: Label = None,
    schema: SchemaFile = None,
    drop: Annotated[
        list[str] | None, typer.Option("--drop", help="A node of the graph that is no feature; repeat.")
    ] = None,
    soft: Annotated[
        bool, typer.Option("--soft", help="Acts are shifts on top of what the causes give, not fixed values.")
    ] = False,
    epochs: Annotated[int | None, typer.Option("--epochs", min=1, help="At most, for --kind flow.")] = None,
    device: Device = None,
    seed: Seed = 0,
    json: Json = None,
) -> None:
    """Learn from a table what follows from an action, given which feature causes which."""
    from wayforward.cli.worlds import fit

    fit(
        graph, train, kind=kind, out=out, label=label, schema=schema, drop=tuple(drop or ()), soft=soft,
        epochs=epochs, device=device, seed=seed, json=json,
    )  # fmt: skip


@world_app.command("check")
def world_check(
    world: Annotated[Path, typer.Argument(help="Equations (.yaml) or what 'world fit' wrote.")],
    train: Annotated[Path, typer.Option("--train", help="A table of people, best unseen ones.")],
    label: Label = None,
    schema: SchemaFile = None,
    seed: Seed = 0,
    json: Json = None,
) -> None:
    """Compare a world with a table: how likely the people are, how alike, what the noise still hides."""
    from wayforward.cli.worlds import inspect

    inspect(world, train, label=label, schema=schema, seed=seed, json=json)


@study_app.command("analyse")
def study_analyse(
    source: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="Ratings, a row each: CSV, Parquet, or the folder of an export."),
    ],
    outcome: Annotated[
        list[str] | None,
        typer.Option("--outcome", help="A column to explain; repeat. Left out: acceptance and action."),
    ] = None,
    x: Annotated[
        list[str] | None,
        typer.Option("--x", help="A column to explain it by; repeat. Left out: sparsity and proximity."),
    ] = None,
    participant: Annotated[
        str, typer.Option("--participant", help="The column that says whose rating it is.")
    ] = "participant",
    impossible: Annotated[
        str | None,
        typer.Option("--impossible", help="A column; rows in which it is above zero are left out."),
    ] = None,
    family: Annotated[
        str, typer.Option("--family", help="gaussian, binomial (0 and 1) or ordered (1, 2, 3 ...).")
    ] = "gaussian",
    basis: Annotated[str, typer.Option("--basis", help="Of the curve: thin-plate or cubic.")] = "thin-plate",
    k: Annotated[int, typer.Option("--k", min=3, help="Size of the basis.")] = 10,
    figure: Annotated[
        Path | None, typer.Option("--figure", help="Draw the curves: .png, .svg or .pdf.")
    ] = None,
    csv: Annotated[Path | None, typer.Option("--csv", help="Write the summary as a table.")] = None,
    json: Json = None,
) -> None:
    """Fit y ~ s(x) + s(participant) + s(participant, x) by REML: EDF, F, p, AIC and curves with 95 % bands."""
    from wayforward.cli.study import analyse_file

    analyse_file(
        source, outcomes=tuple(outcome or ("acceptance", "action")), quantities=tuple(x or ("sparsity", "proximity")),
        participant=participant, impossible=impossible, family=family, basis=basis, k=k,
        figure=figure, csv=csv, json=json,
    )  # fmt: skip


@app.command()
def methods(
    survey: Annotated[
        bool, typer.Option("--table", help="Every system of the survey's Table 1 and its name here.")
    ] = False,
    json: Json = None,
) -> None:
    """The methods: what each needs of the model and what it guarantees."""
    if survey:
        from dataclasses import asdict

        from wayforward.methods.survey import SURVEYED

        if str(json) != "-":
            heads = ("year", "system", "solution", "access", "here", "remark")
            lines = [
                (r.when[:4], r.name, r.solution, r.access, ", ".join(r.ours), r.remark) for r in SURVEYED
            ]
            table("", heads, lines)
        write_json([asdict(row) for row in SURVEYED], json)
        return
    from wayforward.methods import methods_table
    from wayforward.model import Access

    rows = methods_table()
    for row in rows:
        row["needs"] = Access(row["needs"]).name.lower().replace("_", " ")
        row["guarantee"] = "cheapest, or a proof that none exists" if row["exact"] else "checked options"
    if str(json) != "-":
        cells = [
            (
                r["name"],
                r["summary"],
                r["needs"] + (" + data" if r["needs_data"] else ""),
                r["guarantee"],
                r["citation"],
            )
            for r in rows
        ]
        table("", ("method", "what it does", "needs", "guarantee", "source"), cells)
    write_json(rows, json)


@app.command()
def datasets(
    name: Annotated[str | None, typer.Argument(help="Show the card of one.")] = None,
    json: Json = None,
) -> None:
    """The data sets that are at hand, or the card of one."""
    from wayforward.cli.datasets import card, listing

    if name is None:
        listing(json)
    else:
        card(name, json)


@app.command()
def serve(
    home: Annotated[
        Path, typer.Option("--home", help="The folder of keys, models and the embedded database.")
    ] = Path("wayforward-home"),
    database: Annotated[
        str,
        typer.Option("--database", help="postgresql+psycopg://USER@HOST/NAME; left out, SQLite in --home."),
    ] = "",
    host: Annotated[str, typer.Option("--host", help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=1, max=65535)] = 8000,
    public_url: Annotated[
        str, typer.Option("--public-url", help="What people type, where a proxy is in front.")
    ] = "",
    forwarded_from: Annotated[
        str,
        typer.Option(
            "--forwarded-from", help="Addresses of proxies in front that are believed about who comes."
        ),
    ] = "127.0.0.1",
    model: Annotated[
        str | None, typer.Option("--model", help="lr, mlp, rf, gb, xgb, lgbm, or a model file.")
    ] = None,
    schema: SchemaFile = None,
    train: Train = None,
    label: Label = None,
    favourable: Favourable = None,
    world: Annotated[
        Path | None, typer.Option("--world", help="A world file: what follows from what.")
    ] = None,
    target_threshold: Threshold = None,
    title: Annotated[str, typer.Option("--title", help="What the decision is about.")] = "Your application",
    lender: Annotated[str, typer.Option("--lender", help="Who decides, as people know them.")] = "The lender",
    contact: Annotated[str, typer.Option("--contact", help="Whom people may ask, in one line.")] = "",
    check: Annotated[
        bool, typer.Option("--check", help="Only say whether this would be safe for real people.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", hidden=True)] = False,
) -> None:
    """Open the web application: for applicants, and for those who work with them."""
    from wayforward.cli import serve as door
    from wayforward.serve.settings import ServeSettings

    given = door.model_given(model, schema, train, world, label, favourable or [], target_threshold, title)
    shown = f"[{host}]" if ":" in host else host
    url = public_url or f"http://{shown}:{port}"  # 0.0.0.0 is every address of this machine, so no loopback
    settings = ServeSettings(
        home=home, database=database, public_url=url, lender=lender, contact=contact, debug=debug,
        demonstration=given is None and not public_url, forwarded_from=forwarded_from,
    )  # fmt: skip
    door.run(settings, given, host=host, port=port, check=check)


@app.command()
def demo(
    out: Annotated[Path, typer.Option("--out", help="The folder to write to.")] = Path("demo"),
    seed: Seed = 0,
    n: Annotated[int, typer.Option("--n", min=1, help="Refused people to answer.")] = 300,
    language: Language = None,
    json: Json = None,
) -> None:
    """See it whole: train a model on a generated loan world, refuse, recommend, explain."""
    from wayforward.cli.demo import demonstrate
    from wayforward.language import use_language

    with use_language(language):
        demonstrate(out, seed=seed, n=n, json=json)


@bench_app.callback()
def bench(
    context: typer.Context,
    data: Annotated[list[str] | None, typer.Option("--data", help="Data sets; repeat.")] = None,
    model: Annotated[list[str] | None, typer.Option("--model", help="Models; repeat.")] = None,
    method: Annotated[
        list[str] | None,
        typer.Option("--method", help="Methods, or file.py:Class; repeat. Left out: all that fit."),
    ] = None,
    train: Train = None,
    label: Label = None,
    favourable: Favourable = None,
    schema: SchemaFile = None,
    n: Annotated[int, typer.Option("--n", min=1, help="Refused people.")] = 200,
    k: Options = 1,
    seed: Seed = 0,
    html: Annotated[Path | None, typer.Option("--html", help="Write one page, with a leaderboard.")] = None,
    json: Json = None,
) -> None:
    """Compare methods, also your own, on the same refused people: usable answers, cost, speed.

    The commands are for the leaderboard: fixed tasks, and entries that are kept.
    """
    if context.invoked_subcommand is not None:
        return
    from wayforward.cli.bench import compare
    from wayforward.cli.inputs import Inputs

    own = Inputs(train=train, label=label, favourable=tuple(favourable or ()), schema=schema)
    sets = data or ([] if train is not None else ["loan"])
    compare(sets, model or ["lr", "rf"], method, n=n, k=k, seed=seed, json=json, html=html, own=own)


Entries = Annotated[Path, typer.Option("--entries", help="The folder of entries, one file each.")]
TaskNames = Annotated[list[str] | None, typer.Option("--task", help="Tasks; repeat. Left out: all.")]
TaskSeconds = Annotated[
    int, typer.Option("--seconds", min=1, help="Of the clock, for a submission on a task.")
]
TaskMemory = Annotated[int, typer.Option("--memory", min=1, help="Megabytes, for a submission on a task.")]
TASK_SECONDS, TASK_MEMORY = 120, 6_000


@bench_app.command("tasks")
def bench_tasks(json: Json = None) -> None:
    """List the fixed tasks of each track, and which can be built on this machine."""
    from wayforward.cli.tracks import tasks

    tasks(json)


@bench_app.command("export")
def bench_export(
    folder: Annotated[Path, typer.Argument(help="Where the tasks are written, a folder each.")],
    task: TaskNames = None,
) -> None:
    """Write tasks for a tool in any language: people, table, schema, and the classifier's file."""
    from wayforward.cli.tracks import export

    export(folder, task)


@bench_app.command("submit")
def bench_submit(
    what: Annotated[
        str, typer.Argument(help="file.py, file.py:Class, a folder of <task>.parquet, or a method.")
    ],
    entries: Entries,
    name: Annotated[str, typer.Option("--name", help="The entry's name. Left out: that of the file.")] = "",
    task: TaskNames = None,
    seconds: TaskSeconds = TASK_SECONDS,
    memory: TaskMemory = TASK_MEMORY,
) -> None:
    """Judge a submission on the tasks and keep its entries. Python files are run: submit only code that you trust."""
    from wayforward.cli.tracks import submit_one

    submit_one(what, entries, name=name, names=task, seconds=seconds, memory=memory)


@bench_app.command("leaderboard")
def bench_leaderboard(
    entries: Entries,
    method: Annotated[
        list[str] | None,
        typer.Option("--method", help="Methods of the library to judge; repeat. Left out: a first set."),
    ] = None,
    task: TaskNames = None,
    markdown: Annotated[
        Path | None, typer.Option("--markdown", help="Write the leaderboard as Markdown.")
    ] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write the leaderboard as one page.")] = None,
    render: Annotated[bool, typer.Option("--render", help="Judge nothing; only write the pages.")] = False,
    seconds: TaskSeconds = TASK_SECONDS,
    memory: TaskMemory = TASK_MEMORY,
) -> None:
    """Judge what has no entry yet, and compute the leaderboard from all entries."""
    from wayforward.cli.tracks import leaderboard

    leaderboard(
        entries, method, task, markdown=markdown, html=html, render=render, seconds=seconds, memory=memory
    )


PASSED_ON: Any = {
    "add_help_option": False,
    "context_settings": {"allow_extra_args": True, "ignore_unknown_options": True},
}


@app.command(**PASSED_ON)
def remote(context: typer.Context) -> None:
    """Act on a running server, as programs do: publish, make links in bulk, start jobs, make tokens, and the rest."""
    from wayforward.cli.remote import remote_app

    _pass_on(typer.main.get_command(remote_app()), context)


def _pass_on(command: Any, context: typer.Context) -> None:
    name = f"wayforward {context.info_name}"
    raise typer.Exit(command.main(context.args, prog_name=name, standalone_mode=False) or 0)


@app.command(**PASSED_ON)
def replicate(context: typer.Context) -> None:
    """Measure a paper's tables and figures again: paper beside ours, with tolerances and a verdict."""
    from importlib.metadata import entry_points

    found = list(entry_points(group="wayforward.commands", name="replicate"))
    if not found:
        raise MissingExtra(
            "The studies are a package of their own, which is not installed. In a clone: pip install ./studies"
        )
    _pass_on(typer.main.get_command(found[0].load()), context)


@app.callback(invoke_without_command=True)
def version(
    show: Annotated[
        bool, typer.Option("--version", help="Say the version and leave.", is_eager=True)
    ] = False,
) -> None:
    """Why a model said no, and what a person can do about it."""
    if show:
        from wayforward.version import __version__

        tell(f"wayforward {__version__}")
        raise typer.Exit


@study_app.command("power")
def study_power(
    participants: Annotated[
        list[int] | None, typer.Option("--participants", help="How many; repeat. Left out: 100, 200 and 362.")
    ] = None,
    height: Annotated[
        float | None,
        typer.Option(
            "--height", help="Of the curve at one change, in points. Left out: as calibrated; 0: none."
        ),
    ] = None,
    x: Annotated[str, typer.Option("--x", help="sparsity or proximity.")] = "sparsity",
    studies: Annotated[int, typer.Option("--studies", min=1, help="How many to simulate of each size.")] = 50,
    alpha: Annotated[float, typer.Option("--alpha", help="The p-value below which a curve is found.")] = 0.05,
    seed: Seed = 0,
    json: Json = None,
) -> None:
    """How many participants? The share of simulated studies whose curve is found, at each size."""
    from wayforward.cli.study import show_power

    show_power(
        tuple(participants or (100, 200, 362)),
        height=height, x=x, studies=studies, alpha=alpha, seed=seed, json=json,
    )  # fmt: skip


@study_app.command("simulate")
def study_simulate(
    out: Annotated[
        Path, typer.Option("--out", help="Where to write the ratings (.csv); '-' for the output.")
    ],
    participants: Annotated[int, typer.Option("--participants", min=2, help="How many.")] = 362,
    seed: Seed = 0,
) -> None:
    """Write a simulated study: made-up participants whose ratings have the statistics of the published one."""
    from wayforward.cli.study import write_simulated

    write_simulated(out, participants=participants, seed=seed)


Protocol = Annotated[
    str, typer.Argument(metavar="PROTOCOL", help="A file, or car-loan, dialogue-or-sliders, point-or-region.")
]


@study_app.command("validate")
def study_validate(protocol: Protocol, json: Json = None) -> None:
    """Read a protocol strictly, and say what it holds and its hash."""
    from wayforward.cli.study import show_protocol

    show_protocol(protocol, json)


@study_app.command("preview")
def study_preview(
    protocol: Protocol,
    out: Annotated[Path, typer.Option("--out", help="Where to write the page (.html).")],
    language: Annotated[str, typer.Option("--language", help="Left out: the first one.")] = "",
) -> None:
    """Write every screen of a protocol on one page that stands alone."""
    from wayforward.cli.study import write_preview

    write_preview(protocol, out, language)


@study_app.command("new")
def study_new(
    out: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write the protocol (.yaml).")],
    name: Annotated[
        str, typer.Option("--from", help="car-loan, dialogue-or-sliders or point-or-region.")
    ] = "point-or-region",
) -> None:
    """Write a protocol of the package as a file, to be edited."""
    from wayforward.cli.study import write_protocol

    write_protocol(name, out)


@study_app.command("rehearse")
def study_rehearse(
    protocol: Protocol,
    out: ExportFolder,
    participants: Annotated[int, typer.Option("--participants", min=1, help="How many.")] = 20,
    pool: Annotated[
        Path | None, typer.Option("--pool", help="Profiles that plans come from: CSV or Parquet.")
    ] = None,
    seed: Seed = 0,
) -> None:
    """Let made-up participants walk through a protocol, and write the export that a real study would have."""
    from wayforward.cli.study import write_rehearsal

    write_rehearsal(protocol, out, participants=participants, seed=seed, pool=pool)


@study_app.command("export")
def study_export(
    home: Annotated[Path, typer.Argument(metavar="HOME", help="The folder of `wayforward serve --home`.")],
    out: ExportFolder,
    study: Annotated[
        str,
        typer.Option(
            "--study", help="The id of its protocol, or the begin of its hash. Left out: the only one."
        ),
    ] = "",
    database: Annotated[
        str, typer.Option("--database", help="A URL. Left out: the embedded database of the folder.")
    ] = "",
) -> None:
    """Write the answers of a study in the web application: every table, the codebook, the protocol."""
    from wayforward.cli.study import write_export

    write_export(home, out, study=study, database=database)
