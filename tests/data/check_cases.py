# test: args=$B/unroll
"""Checks what `unroll inspect` prints for small files that were once misread. Usage: check_cases.py UNROLL

For each file of tests/data/cases, lists words that its description must contain, and after None those that it must
not."""
import pathlib
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).parent / "cases"
CASES = {
    # words for missing values
    "a01_na_label.csv": ["3 distinct: AS 60, EU 60, NA 60", "--missing 'NA'"],
    "h05_missing_key.jsonl": ["'label' is missing in 54 of 160 rows"],
    "h07_empty_label.csv": ["'label' is missing in 54 of 160 rows"],
    "a32_no_labels.jsonl": ["labels               set of each example, 4 distinct", None, "missing"],
    "a33_nan.jsonl": ["write null"],
    "g02_train.csv": ["task     classify: labels in 'labels'"],
    "g02_test.csv": ["labels               set of each example, 2 distinct"],
    "g02_test_missing.csv": ["'labels' is missing in 100 of 200 rows; none of the labels is written |"],
    "lengths_0.npz": ["has no step"],
    "all_nan.npz": ["has no number in 'x'"],
    # the header
    "a05_pandas_numeric_header.csv": ["1 sequence of 200 steps", "'index' is left out", "from -50.334 to 0.0012"],
    "a05b_numeric_header.csv": ["1 sequence of 200 steps", "from -50.334 to 0.0012"],
    "a22_comments.csv": ["a header (--header), commas between cells (--delimiter), lines above it are skipped, UTF-8", "1 sequence of 100 steps, ordered by date"],
    "a23b_trailing_both.csv": ["'c3' is left out: it is empty", "ordered by date"],
    "a26_cr_only.csv": ["1 sequence of 100 steps, ordered by date"],
    "a28c_pandas_quoted_only_quotes.tsv": ["ham 80, spam 40", None, '"\\"'],
    "a29_headerless.csv": ["540 sequences", "labels in 'c2'"],
    "a29b_headerless_two.csv": ["no header (--header), commas", "151 sequences", "y 110, x 41"],
    "h01_text_01.csv": ["task     classify: labels in 'toxic'", "--column toxic=number"],
    "h02_kaggle_spam.csv": ["160 sequences", "ham 106, spam 54", "labels in 'v1'"],
    # numbers in various notations
    "e10_french.csv": ["numbers in 'ventes'", "with a decimal comma", "12352.9"],
    "e10h_french_long.csv": ["numbers in 'ventes'", "with a decimal comma"],
    "e10b_blank_thousands.csv": ["numbers in 'sales'", "12352.9"],
    "e10e_unicode_minus.csv": ["numbers in 'profit'", "from -"],
    "e10g_unicode_minus_long.csv": ["numbers in 'profit'", "from -"],
    "e10f_units.csv": ["numbers in 'weight'", "'12.35 kg' is 12.35"],
    "a16_large.csv": ["numbers in 'population'"],
    # times, order, gaps
    "a02_year.csv": ["ordered by Year", "numbers in 'Spots'", None, "numbers in 'Year'"],
    "a04_unnamed0.csv": ["'Unnamed: 0' is left out", "numbers in 'sales'"],
    "a06_tz_offset.csv": ["different offsets from UTC", "23:00:00Z"],
    "a06b_tz_fixed.csv": ["2024-06-01 00:00:00+02:00"],
    "a08_tenth_seconds.csv": ["00:00:59.900", "every 0.1 seconds"],
    "a10_gaps.csv": ["22 of 960 steps are missing", "22 missing"],
    "a10_gaps_filled.csv": ["1 sequence of 960 steps", "22 missing"],
    "a11_newest_first_text.csv": ["from 2023-01-01 to 2023-10-27", "sorted by 'Date'"],
    "a11b_newest_first_iso.csv": ["from 2023-01-01 to 2023-10-27", "sorted by 'Date'"],
    "a11c_newest_first_us.csv": ["from 2023-01-01 to 2023-10-27", "month, day, year", "sorted by 'Date'"],
    "a17_unsorted.csv": ["sorted by 'time'"],
    "a20_microseconds.csv": ["microseconds since 1970", "usually every minute"],
    "a20b_seconds_fraction.csv": ["seconds since 1970", "usually every 0.5 seconds"],
    "e12_quarters.csv": ["from 2000Q1 to 2023Q4", "numbers in 'GDP'"],
    "e12b_quarters_date.csv": ["from 2000Q1 to 2023Q4", "numbers in 'GDP'"],
    "a13_wide_m4.csv": ["30 sequences of 2,427 steps", "numbers in 'value'", "--layout steps or examples"],
    "c10_clicks.tsv": ["ItemId               category", "--group SessionId", None, "numbers in '"],
    # output of other tools
    "a31_fasttext.txt": ["AS 60, EU 60, NA 60", "labels in 'label'"],
    "a31b_fasttext_multi.txt": ["hot 90", "labels in 'labels'"],
    "b01_hash.conll": ["574 steps", "# 40"],
    "b01b_hash_tab.conll": ["574 steps", "# 40"],
    "b01c_conll2000.conll": ["440 steps"],
    "b02_conll2003.txt": ["task     tag", None, "DOCSTART"],
    "c04_bool_y.npz": ["task     classify"],
    "c06_window_24_24.npz": ["--labels examples reads them as 24 values for each example"],
    "c06b_window_24_12.npz": ["width 12"],
    "c05_onehot_T.npz": ["category of each example, 10 distinct"],
    # a byte order mark
    "e05_bom.conll": ["task     tag", None, "\ufeff"],
    "e05_bom.conllu": ["task     tag", None, "\ufeff"],
    "e05_bom.jsonl": ["labels in 'label'"],
    "e05_bom.txt": ["28 distinct", None, "\ufeff"],
    "a36_iris_like.csv": ["--layout examples", "with 'species' as its label"],
}

# the first lines of `unroll train`
TRAIN = {
    "a10_gaps.csv": """data: csv, a header (--header), commas between cells (--delimiter), UTF-8 (--encoding)
rows: 960 steps of one series (--group, --layout)
columns: 'time' time, 'load' number (--column NAME=TYPE)
order: by 'time', every hour, without a time zone (--time NAME, --order)
missing: 22 of 960 in 'load' (--missing WORD)
""",
    "a13_wide_m4.csv": """data: csv, a header (--header), commas between cells (--delimiter), UTF-8 (--encoding)
rows: steps of 30 series, one for each 'V1', 64 to 100 steps each (--group, --layout)
columns: 'V1' category (30), 'value' number (--column NAME=TYPE)
order: of the file (--time NAME)
""",
    "a06b_tz_fixed.csv": "order: by 'time', every hour, UTC+02:00 (--time NAME, --order)\n",
    "a20_microseconds.csv": "order: by 'timestamp', microseconds since 1970, every minute (--time NAME, --order)\n",
    "h07_empty_label.csv": "missing: 54 of 160 in 'label' (--missing WORD)\n",
    "c05_onehot_T.npz": "rows: 240 examples, 10 steps each\ncolumns: 'x' 3 numbers, 'y' category (10)",
    "e05_bom.txt": "data: text, 2700 characters, 28 distinct (--tokens)\ntask lm",
}
# overruling a decision: the option, and the description that follows
OVERRULED = {
    ("a17_unsorted.csv", "--order", "file"): ["1 sequence of 400 steps\n", 'begins   {"time":"2024-01-02 22:00:00"'],
    ("a17_unsorted.csv", "--order", "time"): ["ordered by time", 'begins   {"time":"2024-01-01"'],
    ("a13_wide_m4.csv", "--order", "time"): ["no column with a time in each row"],
    ("a17_unsorted.csv", "--order", "file", "--time", "time"): ["both set the order of the rows"],
    ("a17_unsorted.csv", "--encoding", "windows-1252"): ["Windows code page 1252"],
    ("a01_na_label.csv", "--header", "no"): ["no header", "181 sequences"],
    ("a29_headerless.csv", "--header", "yes"): ["539 sequences"],
    ("a36_iris_like.csv", "--layout", "examples"): ["150 sequences of 150 steps"],
    ("a13_wide_m4.csv", "--layout", "examples", "--header", "no"): [None, "numbers in 'value'"],
    ("c05_onehot_T.npz", "--labels", "steps"): ["category of each step, 2 distinct"],
    ("c05_onehot_T.npz", "--labels", "examples"): ["y                    numbers of each example, width 10"],
    ("c05_onehot_T.npz", "--labels", "one-hot"): ["category of each example, 10 distinct"],
    ("c06_window_24_24.npz", "--labels", "one-hot"): ["is not one-hot"],
    ("a10_gaps.csv", "--gaps", "keep"): ["1 sequence of 938 steps"],
}


def describe(unroll, path, *options):
    run = subprocess.run([unroll, "inspect", path, *options], capture_output=True, text=True, check=False)
    return run.stdout + run.stderr


def check(name, said, words):
    at = words.index(None) if None in words else len(words)
    lacking = [word for word in words[:at] if word not in said]
    wrong = [word for word in words[at + 1 :] if word in said]
    if lacking or wrong:
        print(f"FAILED {name}: lacks {lacking}, has {wrong}:\n{said}")
    return not (lacking or wrong)


def marked_folder(folder):
    """The files of one class begin with a byte order mark, which would distinguish the classes."""
    for label, mark in (("a", "\ufeff"), ("b", "")):
        (folder / label).mkdir()
        for i in range(20):
            (folder / label / f"{i}.txt").write_text(mark + "one two three", encoding="utf-8")
    return folder


def first_lines(unroll, path):
    run = subprocess.run([unroll, "train", path, "--dry-run"], capture_output=True, text=True, check=False)
    return run.stdout + run.stderr


def main():
    unroll = sys.argv[1]
    passed = sum(check(name, describe(unroll, FOLDER / name), words) for name, words in CASES.items())
    passed += sum(check(f"train {name}", first_lines(unroll, FOLDER / name), [words]) for name, words in TRAIN.items())
    for (name, *options), words in OVERRULED.items():
        passed += check(f"{name} {options}", describe(unroll, FOLDER / name, *options), words)
    files = {path.name for path in FOLDER.iterdir()}
    if files != set(CASES):
        print(f"FAILED files without a case, or cases without a file: {files ^ set(CASES)}")
    with tempfile.TemporaryDirectory() as place:
        said = describe(unroll, marked_folder(pathlib.Path(place)))
        passed += check("a folder with marks", said, ["8 distinct", None, "\ufeff"])
    failed = len(CASES) + len(TRAIN) + len(OVERRULED) + 1 - passed + (files != set(CASES))
    print(f"check_cases: {passed} passed, {failed} failed, 0 skipped")
    return failed > 0


sys.exit(main())
