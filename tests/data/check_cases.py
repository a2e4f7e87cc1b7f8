# test: args=$B/unroll
"""What `unroll inspect` says about small files that were once misread. Usage: check_cases.py UNROLL

Each file of tests/data/cases has the words that its description must have, and those behind None that it may not have."""
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
    "a22_comments.csv": ["a header, commas between cells, cells in quotes, lines above it are skipped, UTF-8", "1 sequence of 100 steps, ordered by date"],
    "a23b_trailing_both.csv": ["'c3' is left out: it is empty", "ordered by date"],
    "a26_cr_only.csv": ["1 sequence of 100 steps, ordered by date"],
    "a28c_pandas_quoted_only_quotes.tsv": ["ham 80, spam 40", None, '"\\"'],
    "a29_headerless.csv": ["540 sequences", "labels in 'c2'"],
    "a29b_headerless_two.csv": ["no header, commas", "151 sequences", "y 110, x 41"],
    "h01_text_01.csv": ["task     classify: labels in 'toxic'", "--column toxic=number"],
    "h02_kaggle_spam.csv": ["160 sequences", "ham 106, spam 54", "labels in 'v1'"],
    # numbers as people write them
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
    "a10_gaps.csv": ["22 of 960 steps are not there", "22 missing"],
    "a10_gaps_filled.csv": ["1 sequence of 960 steps", "22 missing"],
    "a11_newest_first_text.csv": ["from 2023-01-01 to 2023-10-27", "put in the order of 'Date'"],
    "a11b_newest_first_iso.csv": ["from 2023-01-01 to 2023-10-27", "put in the order of 'Date'"],
    "a11c_newest_first_us.csv": ["from 2023-01-01 to 2023-10-27", "month, day, year", "put in the order of 'Date'"],
    "a17_unsorted.csv": ["put in the order of 'time'"],
    "a20_microseconds.csv": ["microseconds since 1970", "usually every minute"],
    "a20b_seconds_fraction.csv": ["seconds since 1970", "usually every 0.5 seconds"],
    "e12_quarters.csv": ["from 2000Q1 to 2023Q4", "numbers in 'GDP'"],
    "e12b_quarters_date.csv": ["from 2000Q1 to 2023Q4", "numbers in 'GDP'"],
    "a13_wide_m4.csv": ["30 sequences of 2,427 steps", "numbers in 'value'", "--layout steps or examples"],
    "c10_clicks.tsv": ["ItemId               category", "--group SessionId", None, "numbers in '"],
    # what other tools write
    "a31_fasttext.txt": ["AS 60, EU 60, NA 60", "labels in 'label'"],
    "a31b_fasttext_multi.txt": ["hot 90", "labels in 'labels'"],
    "b01_hash.conll": ["574 steps", "# 40"],
    "b01b_hash_tab.conll": ["574 steps", "# 40"],
    "b01c_conll2000.conll": ["440 steps"],
    "b02_conll2003.txt": ["task     tag", None, "DOCSTART"],
    "c04_bool_y.npz": ["task     classify"],
    "c05_onehot_T.npz": ["category of each example, 10 distinct"],
    # a byte order mark
    "e05_bom.conll": ["task     tag", None, "\ufeff"],
    "e05_bom.conllu": ["task     tag", None, "\ufeff"],
    "e05_bom.jsonl": ["labels in 'label'"],
    "e05_bom.txt": ["28 distinct", None, "\ufeff"],
    "a36_iris_like.csv": ["--layout examples", "to be told by its 'species'"],
}


def describe(unroll, path):
    run = subprocess.run([unroll, "inspect", path], capture_output=True, text=True, check=False)
    return run.stdout + run.stderr


def check(name, said, words):
    at = words.index(None) if None in words else len(words)
    lacking = [word for word in words[:at] if word not in said]
    wrong = [word for word in words[at + 1 :] if word in said]
    if lacking or wrong:
        print(f"FAILED {name}: lacks {lacking}, has {wrong}:\n{said}")
    return not (lacking or wrong)


def marked_folder(folder):
    """The files of one class begin with a mark, which would tell the classes apart."""
    for label, mark in (("a", "\ufeff"), ("b", "")):
        (folder / label).mkdir()
        for i in range(20):
            (folder / label / f"{i}.txt").write_text(mark + "one two three", encoding="utf-8")
    return folder


def main():
    unroll = sys.argv[1]
    passed = sum(check(name, describe(unroll, FOLDER / name), words) for name, words in CASES.items())
    files = {path.name for path in FOLDER.iterdir()}
    if files != set(CASES):
        print(f"FAILED files without a case, or cases without a file: {files ^ set(CASES)}")
    with tempfile.TemporaryDirectory() as place:
        said = describe(unroll, marked_folder(pathlib.Path(place)))
        passed += check("a folder with marks", said, ["8 distinct", None, "\ufeff"])
    failed = len(CASES) + 1 - passed + (files != set(CASES))
    print(f"check_cases: {passed} passed, {failed} failed, 0 skipped")
    return failed > 0


sys.exit(main())
