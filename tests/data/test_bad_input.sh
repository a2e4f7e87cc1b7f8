#!/bin/bash
# Typical mistakes in data: what the command reports, and how to fix it. A case is a file that is made here, a command,
# its exit status, and words of the message and of its fix. (tests/fuzz has random input.) Usage: test_bad_input.sh
# UNROLL; SHOW=1 prints all messages
# test: args=$B/unroll
unroll=$(realpath "$1") || exit 2
place=$(mktemp -d) && cd "$place" || exit 2
trap 'rm -rf "$place"' EXIT
passed=0 failed=0 skipped=0
export UNROLL_THREADS=1

# NAME STATUS WORDS|WORDS|.. COMMAND..: exits with the status; prints all the words in their order, and a fix
bad() {
    local name=$1 status=$2 words=$3 got said rest part
    shift 3
    "$unroll" "$@" >out 2>err </dev/null
    got=$?
    said=$(tr '\n' ' ' <err) rest=$said
    [ -z "$SHOW" ] || printf '%s\n    %s\n' "$name" "$said"
    case $said in *libarchive*) echo "skipped: $name: $said"; skipped=$((skipped + 1)); return ;; esac
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
# NAME WORDS COMMAND..: succeeds and prints the words
says() {
    local name=$1 words=$2
    shift 2
    if "$unroll" "$@" >out 2>&1 </dev/null && grep -qF "$words" out; then
        passed=$((passed + 1))
    else
        echo "FAILED $name: '$words' is not in: $(tail -n 3 out)"; failed=$((failed + 1))
    fi
}
# NAME TEXT: writes a file; escapes as in printf
file() { mkdir -p "$(dirname "$1")" && printf "$2" >"$1"; }
# NAME FILE WORDS [OPTION..]: bad training data
data() { local name=$1 path=$2 words=$3; shift 3; bad "$name" 3 "$words" train "$path" --dry-run "$@"; }

# NAME TYPE SHAPE BYTES: writes a NumPy array; bytes as in printf
npy() {
    local header="{'descr': '$2', 'fortran_order': False, 'shape': ($3), }"
    mkdir -p "$(dirname "$1")"
    { printf '\x93NUMPY\1\0'; printf "\\x$(printf %x ${#header})\\0"; printf '%s' "$header"; printf "$4"; } >"$1"
}

# ---- missing and empty files ----

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
data "a sound" sound.wav "the sound ends in its header"
file words.wav 'the quick brown fox'
data "a text named as a sound" words.wav "not a wav file"
file model.bin '\177ELF\002\001\001\0'
data "a program" model.bin "'model.bin' is a binary file"
bad "a reader that there is none" 2 "'excel' is not known|csv" train empty.csv --reader excel

# ---- tables ----

file ragged.csv 'a,b\n1,2\n3\n4,5\n'
data "a row with fewer cells" ragged.csv "'ragged.csv', row 2 has 1 cells|has 2|the same number"
file long.csv 'a,b\n1,2\n3,4,5\n'
data "a row with more cells" long.csv "'long.csv', row 2 has 3 cells|has 2|the same number"
file quote.csv 'a,b\n1,"2\n3,4\n'
data "a quote that is not closed" quote.csv "'quote.csv'|line 2|quote that is not closed|close it"
file word.csv 'a,b\n1,2\n3,x\n4,5\n5,6\n6,7\n7,8\n8,9\n9,10\n10,11\n11,12\n'
data "a word among numbers" word.csv "'word.csv', row 2, column 'b': 'x' is not a number|9 other cells|correct it"
file header.csv 'a,b\n'
data "a header and no rows" header.csv "'header.csv' has no rows|at least one"
file latin.csv 'name,label\ncaf\351\201,x\nb,y\n'
data "a table in no encoding that is known" latin.csv "'latin.csv'|UTF-8|iconv"
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
data "an object inside" inside.jsonl "row 1|'text' is an object|outer object"
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
data "a word in a series" word.ts "'word.ts', line 5: value 2, 'two', is not a number|missing value is ?"
file dimensions.ts "${head}1,2:3,4:a\n1,2:a\n"
data "a dimension that is missing" dimensions.ts "line 5: 1 dimensions, not 2|':'"
file uneven.ts "${head}1,2:3:a\n"
data "dimensions of two lengths" uneven.ts "line 4: dimension 2 has 1 steps|2|fill"
file stamps.ts '@problemName p\n@timeStamps true\n@classLabel true a\n@data\n(0,1):a\n'
data "series with time stamps" stamps.ts "line 2|time stamps|@timestamps false"
file nothing.ts "$head"
data "headers and no series" nothing.ts "no series after @data"
file nodata.ts '@problemName p\n@classLabel true a\n1,2:a\n'
data "series without @data" nodata.ts "line 3|@data"
file P_TRAIN.tsv '1\t0.5\t0.7\n2\t0.5\tx\n'
data "a word in a UCR series" P_TRAIN.tsv "'P_TRAIN.tsv', line 2: value 2, 'x', is not a number"
file Q_TRAIN.tsv '1\t0.5\t0.7\n2\tNaN\tNaN\n'
data "an empty series" Q_TRAIN.tsv "line 2: the series has no step|leave the line out"
file R_TRAIN.tsv '1\t0.5\t0.7\n2\n'
data "a class without a series" R_TRAIN.tsv "line 2: expected a class and a series|CLASS, tab"
file S_TRAIN.tsv '1\t0.5\t0.7\n1\t0.4\t0.1\n1\t0.5\t0.2\n'
data "series of one class" S_TRAIN.tsv "only the label '1'|at least two" --task classify
data "series of one class, without a task" S_TRAIN.tsv "no task fits|--task"

# ---- arrays ----

npy short.npy '<f4' '2, 3' '\0\0\0\0'
data "an array that is cut short" short.npy "'short.npy' is truncated|get the file again"
npy long.npy '<f4' '1,' '\0\0\0\0\0\0\0\0'
data "an array that is too long" long.npy "'long.npy' has data after|header declares"
npy huge.npy '<f4' '4, 4611686018427387904' '\0\0\0\0'
data "an array of a size that nothing has" huge.npy "'huge.npy': its header declares more than|numbers"
npy objects.npy '|O' '2,' '\0\0\0\0\0\0\0\0'
bad "an array of objects" 4 "'objects.npy' has elements of the type '|.astype" train objects.npy --dry-run
npy empty.npy '<f4' '0, 3' ''
data "an empty array" empty.npy "'empty.npy' is empty: axis 0"
npy scalar.npy '<f4' '' '\0\0\0\0'
data "one number" scalar.npy "'scalar.npy' is a single number"
npy texts.npy '<U1' '2,' 'a\0\0\0b\0\0\0'
data "texts for x" texts.npy "x holds texts|tokens"
file header.npy '\x93NUMPY\1\0\004\0{}  '
data "a header that NumPy does not write" header.npy "'header.npy' has a header that is not the dict"
npy parts/x.npy '<f4' '2, 1, 1' '\0\0\0\0\0\0\0\0'
npy parts/y.npy '|u1' '3,' '\1\2\3'
data "labels of another number than examples" parts "y has 3 entries, x 2|one for each" --reader npz
npy parts/y.npy '|u1' '2,' '\1\2'
npy parts/lengths.npy '|u1' '2,' '\1\7'
data "a length beyond the steps" parts "length of example 1 is 7, there are 1 steps" --reader npz
npy parts/lengths.npy '|u1' '2, 1' '\1\7'
data "lengths of two axes" parts "lengths is not a list" --reader npz
npy nox/y.npy '|u1' '2,' '\1\2'
npy nox/z.npy '|u1' '2,' '\1\2'
data "arrays without x" nox "no array x|numpy.savez" --reader npz

# ---- packed files ----

seq 20000 | gzip >numbers.gz
head -c 20000 numbers.gz >cut.txt.gz
data "a gz file that is cut short" cut.txt.gz "'cut.txt.gz' is damaged or cut short|pack it again"
{ head -c 20000 numbers.gz; head -c 4000 /dev/zero; tail -c +24001 numbers.gz; } >damaged.txt.gz
data "a gz file that is damaged" damaged.txt.gz "'damaged.txt.gz' is damaged|pack it again"
cat numbers.gz numbers.gz >two.txt.gz
"$unroll" train two.txt.gz --dry-run >out 2>err && passed=$((passed + 1)) || { echo "FAILED two gz files in one: $(cat err)"; failed=$((failed + 1)); }
if command -v xz >/dev/null; then
    seq 20000 | xz >numbers.xz
    { head -c 2000 numbers.xz; printf damaged; tail -c +2008 numbers.xz; } >damaged.txt.xz
    data "an xz file that is damaged" damaged.txt.xz "'damaged.txt.xz' is damaged or cut short|pack it again"
else
    echo "skipped: an xz file that is damaged: there is no xz"; skipped=$((skipped + 1))
fi
mkdir classes; seq 9000 >classes/a.txt; seq 9000 >classes/b.txt
tar -czf classes.tgz classes
head -c 9000 classes.tgz >cut.tgz
data "an archive that is cut short" cut.tgz "'cut.tgz|is damaged or cut short|pack it again"
yes | head -c 70000000 | gzip >bomb.txt.gz
data "an archive that unpacks as if without end" bomb.txt.gz "'bomb.txt.gz'|times its size|unpack it first"
mkdir inside; cp classes.tgz inside/a.tgz; cp classes.tgz inside/b.tgz
tar -cf inside.tar inside
data "archives in an archive" inside.tar "an archive in an archive|unpack the outer one"
tar -cf nothing.tar -T /dev/null
data "an archive without files" nothing.tar "'nothing.tar'"

# ---- images ----

file t-images-idx3-ubyte '\0\0\010\003\0\0\0\002\0\0\0\001\0\0\0\002\001\002\003\004'
data "images without their labels" t-images-idx3-ubyte "labels of 't-images-idx3-ubyte' are not there|'t-labels-idx1-ubyte'|next to"
file t-labels-idx1-ubyte '\0\0\010\001\0\0\0\003\001\002\001'
data "labels of another number" t-images-idx3-ubyte "has 3 labels|2 images|files of one set"
file t-labels-idx1-ubyte '\0\0\010\001\0\0\0\002\001'
data "labels that are cut short" t-images-idx3-ubyte "'t-labels-idx1-ubyte' is truncated"
file t-labels-idx1-ubyte 'labels'
data "labels that are no IDX" t-images-idx3-ubyte "'t-labels-idx1-ubyte' does not begin with 0 0 TYPE"
file cut-idx3-ubyte '\0\0\010\003\0\0\0\002\0\0\0\001\0\0\0\002\001\002\003'
data "images that are cut short" cut-idx3-ubyte "'cut-idx3-ubyte' is truncated"
file only-labels '\0\0\010\001\0\0\0\002\001\002'
data "labels in the place of images" only-labels "'only-labels' has one axis: these are labels"
file giant-idx3-ubyte '\0\0\010\003\0\0\0\002\377\377\377\377\377\377\377\377\001'
data "images of a size that nothing has" giant-idx3-ubyte "'giant-idx3-ubyte': its header declares more than"

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

# ---- options for columns ----

file ok.csv 'text,label\ngood,pos\nbad,neg\nfine,pos\npoor,neg\nnice,pos\nawful,neg\n'
bad "a target that is no column" 2 "no column 'zz'|one of text, label" train ok.csv --dry-run --target zz
bad "a type of a column that there is none of" 2 "'ok.csv' has no column 'zz'|--column|text, label" train ok.csv --dry-run --column zz=number
bad "a type that there is none" 2 "'label' can't be 'float'|number, category" train ok.csv --dry-run --column label=float
bad "a column without a type" 2 "has no type|--column NAME=TYPE" train ok.csv --dry-run --column label
bad "groups by no column" 2 "'ok.csv' has no column 'zz'|--group|text, label" train ok.csv --dry-run --group zz
bad "times of no column" 2 "'ok.csv' has no column 'zz'|--time|text, label" train ok.csv --dry-run --time zz
data "times that are none" ok.csv "row 1, column 'label': 'pos' is not a time|correct it" --time label
data "numbers that are none" ok.csv "row 1, column 'label': 'pos' is not a number|correct it" --column label=number
data "nothing but a target" ok.csv "column" --column text=ignore --task classify
data "a tag of a column that the lines have not" ok.csv "ok.csv" --reader conll --tag 7
bad "an option of another reader" 2 "the reader csv has no option 'tag'|header" train ok.csv --dry-run --reader csv --tag 2

# ---- labels ----

data "all held out" ok.csv "6 sequences, and 6 are held out|--val" --val 6
data "a label that is held out alone" ok.csv "'neg'|only in the validation part|hold out a share" --val 2 --test 3
file val.csv 'text,label\ngood,pos\nbad,other\n'
data "a label seen only in validation" ok.csv "'val.csv', row 2, column 'label'|'other'|correct it" --val val.csv
data "a label seen only in the test" ok.csv "'val.csv', row 2, column 'label'|'other'|correct it" --val 0 --test val.csv
file other.csv 'text,class\ngood,pos\nbad,neg\n'
data "validation data without the label" ok.csv "the data have no column 'label', the target|add it" --val other.csv
file inputs.csv 'title,label\ngood,pos\nbad,neg\n'
data "validation data without the text" ok.csv "'inputs.csv'|'text'" --val inputs.csv
bad "validation data that are not there" 2 "--val: 'nothing.csv' is neither a number nor an existing file" train ok.csv --dry-run --val nothing.csv
bad "a share that is none" 2 "--val|0.7|0.5" train ok.csv --dry-run --val 0.7
file one.csv 'text,label\ngood,pos\nfine,pos\nnice,pos\n'
data "one label alone" one.csv "only the label 'pos'|at least two" --task classify
file unlabelled.csv 'text,label\ngood,\nbad,\nfine,\n'
data "no label at all" unlabelled.csv "label" --task classify
data "a task that the data do not suit" ok.csv "forecast" --task forecast
data "tags of texts" ok.csv "tag" --task tag

# ---- series ----

# ROWS [COLUMN..]: a table of hours and a wave; additional columns as awk expressions
table() {
    awk -v rows="$1" -v more="$2" 'BEGIN { print "date,y" (more ? ",z" : ""); for (i = 0; i < rows; i++)
        printf "2020-01-%02d %02d:00,%.3f%s\n", int(i / 24) + 1, i % 24, sin(i * 0.2617993878), more == "constant" ? ",7" : more == "missing" ? "," : more ? "," i % 5 : "" }'
}
table 200 >wave.csv
{ head -n 100 wave.csv; tail -n +100 wave.csv; } >again.csv
data "a time that occurs twice" again.csv "'again.csv', rows 99 and 100 have the same time, 2020-01-05 02:00:00, in 'date'|--group|--column date=ignore" --task forecast
table 200 constant >constant.csv
data "a target that is constant" constant.csv "'z' of 'constant.csv' is constant|another target" --task forecast --target z
table 200 missing >missing.csv
bad "a target without a number" 2 "'z'|'missing.csv'" train missing.csv --dry-run --task forecast --target z
bad "a target of a forecast that is no column" 2 "'wave.csv' has no column 'zz'|one of|y" train wave.csv --dry-run --task forecast --target zz
data "times as a target" wave.csv "'date'|orders the rows|another column" --task forecast --target date
data "a horizon beyond the series" wave.csv "'wave.csv' has|too few|smaller horizon" --task forecast --horizon 500
bad "a column that is known and none" 2 "no column 'zz'" train wave.csv --dry-run --task forecast --known zz
table 6 >tiny.csv
data "a series of six steps" tiny.csv "'tiny.csv'" --task forecast --horizon 4
data "more held out than there is" wave.csv "too few for a period|hold less out" --task forecast --val 190
sed '50s/.*/,0.5/' wave.csv >untimed.csv
data "a row without its time" untimed.csv "'untimed.csv', row 49 has no time in 'date'|give it" --task forecast --time date
sed '50s/,.*/,high/' wave.csv >high.csv
data "a word in a series" high.csv "'high.csv', row 49, column 'y': 'high' is not a number" --task forecast
sed '50s/2020-01-03 00:00/2020-13-03 00:00/' wave.csv >month.csv
data "a month that there is none" month.csv "'month.csv', row 49, column 'date'|2020-13-03" --task forecast
npy flat.npy '<f4' '4, 1' '\0\0\200\077\0\0\200\077\0\0\200\077\0\0\200\077'
data "an array without a change" flat.npy "'flat.npy' has no column of numbers that change|nothing to forecast" --task forecast
npy nan.npy '<f4' '4, 1' '\0\0\300\177\0\0\300\177\0\0\300\177\0\0\300\177'
data "an array of NaN" nan.npy "'nan.npy'|no" --task forecast

data "anomalies of what does not change" flat.npy "'flat.npy'|change" --task anomaly
bad "a label of anomalies that is no column" 2 "no column 'zz'" train wave.csv --dry-run --task anomaly --label zz
bad "a quantile that is none" 2 "--quantile|0.5" train wave.csv --dry-run --task anomaly --quantile 2

# ---- numbers to predict ----

file price.csv 'size,town,price\n1,a,10\n2,b,20\n3,a,30\n4,b,40\n5,a,50\n6,b,60\n7,a,70\n8,b,80\n'
data "a number to predict that is a text" price.csv "'town'" --task regress --target town
bad "a number to predict that is no column" 2 "no column 'cost'|size, town, price" train price.csv --dry-run --task regress --target cost
file noprice.csv 'size,price\n1,\n2,\n3,\n4,\n'
bad "a target of NaN alone" 2 "the column 'price' is left out: it is empty|one of size" train noprice.csv --dry-run --task regress --target price
data "a number to predict that is held out" price.csv "no step left to train on|smaller --val" --task regress --target price --val 8

# ---- predictions ----

model() { "$unroll" train "$1" --steps 1 --hidden 4 --val 0 --out "run-$1" "${@:2}" >out 2>err || { echo "FAILED a model of $1: $(cat err)"; failed=$((failed + 1)); }; }
# NAME MODEL FILE WORDS: bad data to predict
ask() { bad "$1" 3 "$4" predict "run-$2" "$3"; }
model ok.csv --task classify
model price.csv --task regress --target price
model wave.csv --task forecast --horizon 4
ask "data to answer without the text" ok.csv inputs.csv "'text'"
ask "data to answer that are empty" ok.csv empty.csv "'empty.csv' has no rows"
ask "data to answer that are ragged" ok.csv ragged.csv "'ragged.csv'"
ask "data to answer that are not there" ok.csv nothing.csv "'nothing.csv'"
file small.csv 'size,price\n1,10\n'
ask "data to answer without a column" price.csv small.csv "'town'"
file sizes.csv 'size,town\nlarge,a\n2,b\n'
ask "a word in a column of numbers" price.csv sizes.csv "row 1, column 'size'|'large'"
ask "a past that is too short" wave.csv tiny.csv "'tiny.csv' has 6 steps, fewer than|more of its past"
ask "a past without its column" wave.csv ok.csv "'ok.csv' has no column 'date'|text, label"
bad "data for a model that is none" 3 "'ok.csv' is not a safetensors file|a complete model.safetensors" predict ok.csv ok.csv
bad "labels to evaluate that the model has not" 3 "'val.csv', row 2, column 'label'|'other'" eval run-ok.csv val.csv
bad "data to evaluate without labels" 3 "no targets to compare predictions with|targets" eval run-ok.csv other.csv

data "rows without items to recommend" wave.csv "no clear column of items|--item NAME|--column NAME=category" \
    --task recommend

# ---- what is read, but perhaps not as intended ----

file towns.csv 'size,town\n1,a\n2,zz\n'
says "a category that the model has not, in an input" "'town'" predict run-price.csv towns.csv
says "rows out of order, of which one has no time" "not in the order of 'date': row 49 has no time" train untimed.csv --dry-run
{ head -n 1 wave.csv; tail -n +2 wave.csv | tac; } >back.csv
says "rows from the newest to the oldest" "sorted by 'date'" train back.csv --dry-run
says "a column that is empty" "'z' is left out: it is empty" train missing.csv --dry-run
says "a column that is constant" "'z' is the same in all rows" train constant.csv --dry-run
file named/a.txt 'x\ny\nxy\nyx\n'; file named/b.txt 'z\nzz\nzzz\nzy\n'; file named/README 'about\n'
says "a file next to the classes" "left out: 'README'" train named --dry-run
tar -cf lone.tar ok.csv
says "an archive of one table" "task classify: labels in 'label'" train lone.tar --dry-run
says "what was chosen" "task classify: labels in 'label'" train named --dry-run

# ---- terminal control sequences ----

# NAME COMMAND...: prints the data's control characters as something else
harmless() {
    "$unroll" "${@:2}" >out 2>&1 </dev/null
    if grep -qF '?[31m' out && ! LC_ALL=C grep -qaP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' out; then
        passed=$((passed + 1))
    else
        echo "FAILED $1: $(cat -v out)"; failed=$((failed + 1))
    fi
}
for i in $(seq 40); do echo "$i,$((i * i))"; done | cat <(printf 'x\033[31m\007,\302\233y\n') - >escape.csv
for i in $(seq 40); do printf 'text %d,%b[31m%d\n' "$i" '\033' $((i % 2)); done | cat <(printf 'text,label\n') - >labels.csv
model labels.csv
harmless "a name that is an escape sequence, inspected" inspect escape.csv
harmless "labels that are, inspected" inspect labels.csv
harmless "labels that are, answered" predict run-labels.csv labels.csv
harmless "a name that is one, trained on" train escape.csv --steps 1 --hidden 4 --out run-escape

echo "bad input: $passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
