#!/bin/bash
# Data as people bring them when something is wrong: what the command says, and how to mend it. A case is a file that is
# made here, a command, its exit status, and words of the sentence and of its fix. Not a fuzzer (tests/fuzz): each case is
# a mistake that somebody makes. Usage: test_bad_input.sh UNROLL; SHOW=1 prints all that is said
unroll=$(realpath "$1") || exit 2
place=$(mktemp -d) && cd "$place" || exit 2
trap 'rm -rf "$place"' EXIT
passed=0 failed=0 skipped=0
export UNROLL_THREADS=1

# NAME STATUS WORDS|WORDS|.. COMMAND..: it ends with the status, says all the words in their order, and a fix
bad() {
    local name=$1 status=$2 words=$3 got said rest part
    shift 3
    "$unroll" "$@" >out 2>err </dev/null
    got=$?
    said=$(tr '\n' ' ' <err) rest=$said
    [ -z "$SHOW" ] || printf '%s\n    %s\n' "$name" "$said"
    case $said in *libcsv*|*libarchive*) echo "skipped: $name: $said"; skipped=$((skipped + 1)); return ;; esac
    if [ "$got" != "$status" ]; then
        echo "FAILED $name: status $got, not $status: $said"; failed=$((failed + 1)); return
    fi
    case $said in *'fix: '[![:space:]]*) ;; *) echo "FAILED $name: no way to mend it: $said"; failed=$((failed + 1)); return ;; esac
    while [ -n "$words" ]; do
        part=${words%%|*}
        case $words in *'|'*) words=${words#*|} ;; *) words= ;; esac
        case $rest in
        *"$part"*) rest=${rest#*"$part"} ;;
        *) echo "FAILED $name: '$part' is not in: $said"; failed=$((failed + 1)); return ;;
        esac
    done
    passed=$((passed + 1))
}
# NAME TEXT: a file; escapes of printf
file() { mkdir -p "$(dirname "$1")" && printf "$2" >"$1"; }
# NAME FILE WORDS [OPTION..]: bad data to train on
data() { local name=$1 path=$2 words=$3; shift 3; bad "$name" 3 "$words" train "$path" --dry-run "$@"; }

# NAME TYPE SHAPE BYTES: an array of NumPy; bytes as printf writes them
npy() {
    local header="{'descr': '$2', 'fortran_order': False, 'shape': ($3), }"
    mkdir -p "$(dirname "$1")"
    { printf '\x93NUMPY\1\0'; printf "\\x$(printf %x ${#header})\\0"; printf '%s' "$header"; printf "$4"; } >"$1"
}

# ---- files that are none ----

data "no such file" nothing.csv "'nothing.csv': No such file|check the name"
file empty.csv ''
data "an empty table" empty.csv "'empty.csv' has no rows|at least one"
file empty.txt ''
data "an empty text" empty.txt "'empty.txt' is empty|a text with at least one character"
file empty.jsonl ''
data "empty JSON lines" empty.jsonl "'empty.jsonl'"
file binary.txt 'ab\0\001\002'
data "bytes that are no text" binary.txt "'binary.txt' is a binary file|byte 2 is zero|UTF-8"
file latin.txt 'caf\351\n'
data "a text in Latin-1" latin.txt "'latin.txt' is not UTF-8|byte 0xe9 at offset 3 in line 1|iconv -f LATIN1"
file utf16.csv '\377\376a\0,\0b\0\n\0'
data "a table in UTF-16" utf16.csv "'utf16.csv'|UTF-16|iconv -f UTF-16"
file utf16.txt '\376\377\0a\0b'
data "a text in UTF-16" utf16.txt "'utf16.txt' is a binary file|iconv -f UTF-16"
file short.txt 'ab'
data "a text too short to hold anything out" short.txt "2 tokens|a longer text"
data "a text too short for a batch" short.txt "tokens, too few|fix" --val 0
file sound.wav 'RIFF\044\0\0\0WAVEfmt '
data "a sound" sound.wav "'sound.wav' is a binary file|arrays"
file model.bin '\177ELF\002\001\001\0'
data "a program" model.bin "'model.bin' is a binary file"
bad "a reader that there is none" 2 "'excel' is not known|csv" train empty.csv --reader excel

# ---- tables ----

file ragged.csv 'a,b\n1,2\n3\n4,5\n'
data "a row with fewer cells" ragged.csv "'ragged.csv', row 2 has 1 cells|has 2|as many"
file long.csv 'a,b\n1,2\n3,4,5\n'
data "a row with more cells" long.csv "'long.csv', row 2 has 3 cells|has 2|as many"
file quote.csv 'a,b\n1,"2\n3,4\n'
data "a quote that is not closed" quote.csv "'quote.csv'|line 2|quote that never closes|close it"
file word.csv 'a,b\n1,2\n3,x\n4,5\n5,6\n6,7\n7,8\n8,9\n9,10\n10,11\n11,12\n'
data "a word among numbers" word.csv "'word.csv', row 2, column 'b': 'x' is no number|9 other cells|correct it"
file header.csv 'a,b\n'
data "a header and no rows" header.csv "'header.csv' has no rows|at least one"
file latin.csv 'name,label\ncaf\351,x\nb,y\n'
data "a table in Latin-1" latin.csv "'latin.csv'|UTF-8|iconv"
file huge.csv 'a,b\n1,2\n1e999,3\n2,4\n3,5\n'
data "a number that no float holds" huge.csv "row 2, column 'a'|1e999"
file delimiter.csv 'a;b\n1;2\n3\n'
data "a ragged table with semicolons" delimiter.csv "row 2 has 1 cells|has 2"
file tab.tsv 'text\tlabel\ngood\tpos\nbad\n'
data "a row without its label" tab.tsv "'tab.tsv', row 2 has 1 cells"

# ---- JSON lines ----

file cut.jsonl '{"text": "a", "label": "x"}\n{"text": "b", "la\n'
data "a line that is cut short" cut.jsonl "'cut.jsonl'|2"
file list.jsonl '{"text": "a", "label": "x"}\n[1, 2]\n'
data "a line that is no object" list.jsonl "'list.jsonl'|2|object"
file inside.jsonl '{"text": {"body": "a"}, "label": "x"}\n'
data "an object inside" inside.jsonl "row 1|'text' is an object|names of their own"
file widths.jsonl '{"x": [[1, 2], [3]], "label": "a"}\n'
data "steps of two widths" widths.jsonl "row 1|'x'"
file wrong.jsonl '{"x": [1, 2], "label": "a"}\n{"x": "one", "label": "b"}\n'
data "a text where numbers were" wrong.jsonl "row 2|'x'"

# ---- words and tags ----

file ragged.conllu '1\tA\ta\tDET\t_\t_\t0\troot\t_\t_\n2\tdog\tdog\tNOUN\n\n'
data "a line of CoNLL-U that is cut short" ragged.conllu "'ragged.conllu', line 2|10|has 4 columns"
file tags.tsv 'The\tDT\ncat\n\ndog\tNN\n'
data "a word without its tag" tags.tsv "'tags.tsv'|2" --reader conll
file none.conll '# nothing\n\n'
data "no sentence" none.conll "'none.conll' holds no sentence|WORD, tab, TAG"
file noword.tsv 'The\tDT\n\n\tNN\n'
data "a tag without its word" noword.tsv "'noword.tsv', line 3: the word is empty"
file latin.conll 'caf\351 NN\n\n'
data "tags in Latin-1" latin.conll "'latin.conll'|UTF-8|iconv"

# ---- series ----

head='@problemName p\n@classLabel true a b\n@data\n'
file class.ts "${head}1,2:a\n1,3:c\n"
data "a class that the header has not" class.ts "'class.ts', line 5: the class 'c'|@classLabel|add it"
file word.ts "${head}1,2:a\n1,two:b\n"
data "a word in a series" word.ts "'word.ts', line 5: value 2, 'two', is no number|missing value is ?"
file dimensions.ts "${head}1,2:3,4:a\n1,2:a\n"
data "a dimension that is missing" dimensions.ts "line 5: 1 dimensions, not 2|':'"
file uneven.ts "${head}1,2:3:a\n"
data "dimensions of two lengths" uneven.ts "line 4: dimension 2 has 1 steps|2|fill"
file stamps.ts '@problemName p\n@timeStamps true\n@classLabel true a\n@data\n(0,1):a\n'
data "series with time stamps" stamps.ts "line 2|time stamps|@timestamps false"
file nothing.ts "$head"
data "headers and no series" nothing.ts "no series behind @data"
file nodata.ts '@problemName p\n@classLabel true a\n1,2:a\n'
data "series without @data" nodata.ts "line 3|@data"
file P_TRAIN.tsv '1\t0.5\t0.7\n2\t0.5\tx\n'
data "a word in a UCR series" P_TRAIN.tsv "'P_TRAIN.tsv', line 2: value 2, 'x', is no number"
file Q_TRAIN.tsv '1\t0.5\t0.7\n2\tNaN\tNaN\n'
data "an empty series" Q_TRAIN.tsv "line 2: the series has no step|leave the line out"
file R_TRAIN.tsv '1\t0.5\t0.7\n2\n'
data "a class without a series" R_TRAIN.tsv "line 2: no class and a series|CLASS, tab"
file S_TRAIN.tsv '1\t0.5\t0.7\n1\t0.4\t0.1\n1\t0.5\t0.2\n'
data "series of one class" S_TRAIN.tsv "only the label '1'|at least two" --task classify
data "series of one class, without a task" S_TRAIN.tsv "suits no task|--task"

# ---- arrays ----

npy short.npy '<f4' '2, 3' '\0\0\0\0'
data "an array that is cut short" short.npy "'short.npy' is cut short|get the file anew"
npy long.npy '<f4' '1,' '\0\0\0\0\0\0\0\0'
data "an array that goes on" long.npy "'long.npy' goes on behind|header promises"
npy huge.npy '<f4' '4, 4611686018427387904' '\0\0\0\0'
data "an array of a size that nothing has" huge.npy "'huge.npy': its header says more than|numbers"
npy objects.npy '|O' '2,' '\0\0\0\0\0\0\0\0'
bad "an array of objects" 4 "'objects.npy' holds elements '|.astype" train objects.npy --dry-run
npy empty.npy '<f4' '0, 3' ''
data "an empty array" empty.npy "'empty.npy' is empty: axis 0"
npy scalar.npy '<f4' '' '\0\0\0\0'
data "one number" scalar.npy "'scalar.npy' is one number"
npy texts.npy '<U1' '2,' 'a\0\0\0b\0\0\0'
data "texts for x" texts.npy "x holds texts|tokens"
file header.npy '\x93NUMPY\1\0\004\0{}  '
data "a header that NumPy does not write" header.npy "'header.npy': its header is not the dict"
npy parts/x.npy '<f4' '2, 1, 1' '\0\0\0\0\0\0\0\0'
npy parts/y.npy '|u1' '3,' '\1\2\3'
data "labels of another number than examples" parts "y has 3 entries, x 2|one for each" --reader npz
npy parts/y.npy '|u1' '2,' '\1\2'
npy parts/lengths.npy '|u1' '2,' '\1\7'
data "a length beyond the steps" parts "length of example 1 is 7, there are 1 steps" --reader npz
npy parts/lengths.npy '|u1' '2, 1' '\1\7'
data "lengths of two axes" parts "lengths is no list" --reader npz
npy nox/y.npy '|u1' '2,' '\1\2'
npy nox/z.npy '|u1' '2,' '\1\2'
data "arrays without x" nox "no array x|numpy.savez" --reader npz

# ---- what is packed ----

seq 20000 | gzip >numbers.gz
head -c 20000 numbers.gz >cut.txt.gz
data "a gz file that is cut short" cut.txt.gz "'cut.txt.gz' is damaged or cut short|anew"
{ head -c 20000 numbers.gz; head -c 4000 /dev/zero; tail -c +24001 numbers.gz; } >damaged.txt.gz
data "a gz file that is damaged" damaged.txt.gz "'damaged.txt.gz' is damaged|anew"
cat numbers.gz numbers.gz >two.txt.gz
"$unroll" train two.txt.gz --dry-run >out 2>err && passed=$((passed + 1)) || { echo "FAILED two gz files in one: $(cat err)"; failed=$((failed + 1)); }
if command -v xz >/dev/null; then
    seq 20000 | xz >numbers.xz
    { head -c 2000 numbers.xz; printf damaged; tail -c +2008 numbers.xz; } >damaged.txt.xz
    data "an xz file that is damaged" damaged.txt.xz "'damaged.txt.xz' is damaged or cut short|anew"
else
    echo "skipped: an xz file that is damaged: there is no xz"; skipped=$((skipped + 1))
fi
mkdir classes; seq 9000 >classes/a.txt; seq 9000 >classes/b.txt
tar -czf classes.tgz classes
head -c 9000 classes.tgz >cut.tgz
data "an archive that is cut short" cut.tgz "'cut.tgz|is damaged or cut short|anew"
yes | head -c 70000000 | gzip >bomb.txt.gz
data "an archive that unpacks as if without end" bomb.txt.gz "'bomb.txt.gz'|times its size|unpack it first"
mkdir inside; cp classes.tgz inside/a.tgz; cp classes.tgz inside/b.tgz
tar -cf inside.tar inside
data "archives in an archive" inside.tar "an archive inside an archive|unpack the outer one"
tar -cf nothing.tar -T /dev/null
data "an archive without files" nothing.tar "'nothing.tar'"

# ---- images ----

file t-images-idx3-ubyte '\0\0\010\003\0\0\0\002\0\0\0\001\0\0\0\002\001\002\003\004'
data "images without their labels" t-images-idx3-ubyte "labels of 't-images-idx3-ubyte' are not there|'t-labels-idx1-ubyte'|beside"
file t-labels-idx1-ubyte '\0\0\010\001\0\0\0\003\001\002\001'
data "labels of another number" t-images-idx3-ubyte "has 3 labels|2 images|files of one set"
file t-labels-idx1-ubyte '\0\0\010\001\0\0\0\002\001'
data "labels that are cut short" t-images-idx3-ubyte "'t-labels-idx1-ubyte' is cut short"
file t-labels-idx1-ubyte 'labels'
data "labels that are no IDX" t-images-idx3-ubyte "'t-labels-idx1-ubyte' does not begin as IDX"
file cut-idx3-ubyte '\0\0\010\003\0\0\0\002\0\0\0\001\0\0\0\002\001\002\003'
data "images that are cut short" cut-idx3-ubyte "'cut-idx3-ubyte' is cut short"
file only-labels '\0\0\010\001\0\0\0\002\001\002'
data "labels in the place of images" only-labels "'only-labels' has one axis: these are labels"
file giant-idx3-ubyte '\0\0\010\003\0\0\0\002\377\377\377\377\377\377\377\377\001'
data "images of a size that nothing has" giant-idx3-ubyte "'giant-idx3-ubyte': its header says more than"

# ---- folders ----

mkdir nothing
data "a folder without files" nothing "'nothing' has no files|name another"
file one/all.txt 'a\nb\n'
data "a folder without classes" one "'one' has no classes: it holds one file|folder for each class"
file blank/a.txt ''; file blank/b.txt '\n'
data "a folder of empty files" blank "'blank': all its files are empty"
file about/README 'a\n'; file about/LICENSE 'b\n'
data "a folder of files about the data" about "'about' holds no files"
file twins/train/pos/1.txt a; file twins/test/pos/1.txt a; file twins/train/neg/1.txt a; file twins/test/neg/1.txt a
data "training and test data in one folder" twins "two folders 'neg'|train/"
file latin/a.txt 'caf\351\n'; file latin/b.txt 'b\n'
data "a folder in Latin-1" latin "latin|UTF-8|iconv"
file widths/run/1.csv '1,2\n'; file widths/sit/1.csv '1\n'
data "series of two widths" widths "1 numbers at each step, those before 2"
file tables/1.csv '1,2\n'; file tables/2.csv '1,2\n'
data "series without folders of classes" tables "holds series and no folder for each class|reader csv"

echo "bad input: $passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
