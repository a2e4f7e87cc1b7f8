/* All options of the command. Parsing, ranges, help, config files, environment variables, the manual page and the
 * completion are generated from this list. Include it with OPTION(id, name, kind, ...) defined. The help lists
 * options in this order; words without a dash go to the positional options in this order. */

/* ---- models and data ---- */
OPTION(MODEL, "model", PATH, .argument = "MODEL", .positional = 1, .scope = CALL,
       .commands = IN(EVAL) | IN(PREDICT) | IN(SAMPLE) | IN(STREAM) | IN(INSPECT) | IN(EXPORT) | IN(RUN),
       .doc = "model.safetensors, a checkpoint, or the directory of a run (its best weights)")
OPTION(CHECKPOINT, "checkpoint", TEXT, .argument = "WHICH", .fallback = "best", .group = "Model", .scope = CALL,
       .commands = IN(EVAL) | IN(PREDICT) | IN(SAMPLE) | IN(STREAM) | IN(INSPECT) | IN(EXPORT) | IN(RUN),
       .doc = "which weights of a run: best, newest, or the number of an update whose checkpoint was kept")
OPTION(DATA, "data", PATH, .argument = "DATA", .positional = 1, .scope = FREE,
       .commands = IN(TRAIN) | IN(EVAL) | IN(PREDICT), .main = IN(TRAIN), .doc = data_doc)
OPTION(ARRAYS, "arrays", PATH, .argument = "ARRAYS", .positional = 1, .scope = CALL, .commands = IN(RUN),
       .doc = "x.npy, or a .npz of x or tokens, lengths, h0, c0 (docs/reference/formats.md)")
OPTION(RUNS, "run", PATH, .argument = "RUN...", .positional = 1, .repeats = 1, .scope = CALL, .commands = IN(PLOT),
       .doc = "directories of runs or metrics.jsonl files; at most 20")
OPTION(SERVED, "models", PATH, .argument = "MODEL...", .positional = 1, .repeats = 1, .scope = CALL,
       .commands = IN(SERVE),
       .doc = "model files or directories of runs (their best weights); each is served by its name")
OPTION(SOURCE, "source", PATH, .argument = "[FORMAT] FILE", .positional = 1, .repeats = 1, .scope = CALL,
       .commands = IN(IMPORT), .doc = "model of another tool; without FORMAT, or with auto, its format is detected")
OPTION(TRAINING, "training", TEXT, .argument = "train...", .positional = 1, .repeats = 1, .takes_rest = 1,
       .scope = LINE, .commands = IN(LAUNCH), .doc = "the training, with the arguments of `unroll train`")
OPTION(TOPIC, "topic", TEXT, .argument = "COMMAND", .choices = command_names, .positional = 1, .scope = LINE,
       .commands = IN(HELP), .doc = "the command to explain")
OPTION(PART, "part", TEXT, .argument = "GROUP", .positional = 1, .scope = LINE, .commands = IN(HELP),
       .doc = "a group of its options, or all")
OPTION(SHELL, "shell", CHOICE, .argument = "SHELL", .choices = "bash zsh fish", .fallback = "bash", .positional = 1,
       .scope = LINE, .commands = IN(COMPLETION), .doc = "the shell")

/* ---- the network ---- */
OPTION(TASK, "task", CHOICE, .argument = "TASK", .choices = task_names, .derived = "chosen by the data",
       .group = "Data", .commands = IN(TRAIN), .main = IN(TRAIN), .doc = task_doc)
OPTION(TARGET, "target", TEXT, .argument = "NAME", .group = "Task", .of_task = true, .commands = IN(TRAIN) | IN(EXPORT),
       .main = IN(TRAIN),
       .doc = "column to learn, or columns to forecast (A,B or all); export to verilog: the family of chips: generic, "
              "ice40, ecp5, gowin, xilinx")
OPTION(WAKE, "wake", TEXT, .argument = "NAME", .group = "Task", .of_task = true, .commands = IN(TRAIN),
       .doc = "classify sounds: the class that is a wake word; reports misses at 0.5 false accepts an hour")
OPTION(READER, "reader", CHOICE, .argument = "NAME", .choices = reader_names, .derived = "by the file", .group = "Data",
       .scope = FREE, .commands = IN(TRAIN) | IN(EVAL) | IN(PREDICT) | IN(INSPECT), .doc = "how DATA is read")
OPTION(TOKENS, "tokens", CHOICE, .argument = "KIND", .choices = "auto chars words blanks sets", .fallback = "auto",
       .of_reader = 1, .group = "Data", .commands = IN(TRAIN) | IN(INSPECT),
       .doc =
           "unit of a text; chars: characters; words; blanks: text between white space; sets: sets of numbers, one per "
           "line; auto: characters, or words in a column of texts of 8 words or more")
OPTION(VOCABULARY, "vocab", INTEGER, .argument = "N", .unit = "tokens", .fallback = "10000", RANGE(2, 1048576),
       .of_reader = 1, .group = "Data", .commands = IN(TRAIN) | IN(INSPECT), .with = OPTION_TOKENS,
       .with_values = "auto chars words blanks",
       .doc =
           "vocabulary size; the most frequent tokens of the text, others become <unk>; characters are not limited and "
           "have no <unk> unless this is given")
OPTION(
    COLUMN, "column", TEXT, .argument = "NAME=TYPE", .joins = ';', .of_reader = 1, .group = "Data",
    .commands = IN(TRAIN) | IN(INSPECT),
    .doc =
        "type of a column if the detected one is wrong; number, category, text, time, set or ignore; may be given for "
        "several columns")
OPTION(MISSING, "missing", TEXT, .argument = "WORD", .joins = ';', .of_reader = 1, .group = "Data",
       .commands = IN(TRAIN) | IN(INSPECT),
       .doc =
           "word that marks a missing cell, in addition to empty cells, in columns of any type; may be given several "
           "times; without it NA, NaN, null, none and ? are missing among numbers and times")
OPTION(DECIMAL, "decimal", CHOICE, .argument = "MARK", .choices = "auto point comma", .fallback = "auto",
       .of_reader = 1, .group = "Data", .commands = IN(TRAIN) | IN(INSPECT),
       .doc = "decimal mark of numbers; auto: detected from all of them")
OPTION(GAPS, "gaps", CHOICE, .argument = "HOW", .choices = "auto fill keep", .fallback = "auto", .of_reader = 1,
       .group = "Data", .commands = IN(TRAIN) | IN(INSPECT),
       .doc =
           "missing steps between the times of a table; fill: add them as missing values; keep: leave the rows as they "
           "are; auto: fill in tables of numbers")
OPTION(UNALIGNED, "unaligned", TEXT, .argument = "NAME", .joins = ';', .of_reader = 1, .group = "Data",
       .commands = IN(TRAIN) | IN(INSPECT),
       .doc = "column with its own number of entries in each example, such as a transcript; may be given several times")
OPTION(FEATURES, "features", TEXT, .argument = "TEXT", .of_reader = 1, .group = "Data",
       .commands = IN(TRAIN) | IN(INSPECT),
       .doc =
           "features of sounds: log-mel, mfcc, samples, spectrum or bands with its numbers; mfcc:13,25ms,10ms unless "
           "given (docs/howto/audio.md)")
OPTION(SAMPLE_RATE, "sample-rate", INTEGER, .argument = "HZ", RANGE(1, 768000), .of_reader = 1, .group = "Data",
       .commands = IN(TRAIN) | IN(INSPECT),
       .doc = "samples a second to which sounds are converted; the most frequent rate of the files unless given")
OPTION(CHANNELS, "channels", CHOICE, .argument = "HOW", .choices = "mix first all", .fallback = "mix", .of_reader = 1,
       .group = "Data", .commands = IN(TRAIN) | IN(INSPECT), .doc = "channels of sounds that are used; mix: their mean")
OPTION(RESAMPLE, "resample", CHOICE, .argument = "HOW", .choices = "best fast", .fallback = "best", .of_reader = 1,
       .group = "Data", .commands = IN(TRAIN) | IN(INSPECT), .doc = "filter that converts the rate of sounds")
OPTION(DELAY, "delay", TEXT, .argument = "N|auto", .of_reader = 1, .group = "Data", .commands = IN(TRAIN) | IN(INSPECT),
       .doc = "delay of the target of a pair of sounds, in samples, 0 unless given; auto: the best "
              "correlation within 2000 samples")
OPTION(COUNTDOWN, "countdown", TEXT, .argument = "NAME[=N]", .of_reader = 1, .group = "Data",
       .commands = IN(TRAIN) | IN(EVAL) | IN(INSPECT),
       .doc = "adds a column NAME, such as rul: the remaining steps of the series, at most N; a --target of data with "
              "complete series")
OPTION(STATIC, "static", PATH, .argument = "FILE", .of_reader = 1, .group = "Data", .commands = IN(TRAIN) | IN(INSPECT),
       .doc = "table whose columns are added to those of DATA, by --key")
OPTION(KEY, "key", TEXT, .argument = "NAME", .needs = "static", .of_reader = 1, .group = "Data",
       .commands = IN(TRAIN) | IN(INSPECT),
       .doc = "column of DATA and of --static that identifies its row, such as a basin or a patient")
OPTION(
    LAYOUT, "layout", CHOICE, .argument = "HOW", .choices = "auto steps examples wide", .fallback = "auto",
    .of_reader = 1, .group = "Data", .commands = IN(TRAIN) | IN(INSPECT),
    .doc =
        "meaning of the rows of a table without texts; steps: steps of series; examples: one example each; wide: one "
        "series each, with its name first")
OPTION(
    DATES, "dates", CHOICE, .argument = "ORDER", .choices = "auto dmy mdy", .fallback = "auto", .of_reader = 1,
    .group = "Data", .commands = IN(TRAIN) | IN(INSPECT),
    .doc = "order of day and month in dates such as 1/2/2020; auto: detected from all dates, if one number is above 12")
OPTION(GROUP, "group", TEXT, .argument = "NAME", .of_reader = 1, .group = "Data", .commands = IN(TRAIN) | IN(INSPECT),
       .doc = "the column whose values divide the rows into sequences: a store, a patient")
OPTION(TIME, "time", TEXT, .argument = "NAME", .of_reader = 1, .group = "Data", .commands = IN(TRAIN) | IN(INSPECT),
       .doc = "the column that the rows of a sequence are ordered by")
OPTION(CELL, "cell", CHOICE, .argument = "CELL", .choices = cell_names, .fallback = "lstm", .by_task = 1,
       .group = "Network", .commands = IN(TRAIN) | IN(PLAN) | IN(BENCH), .main = IN(TRAIN),
       .doc = "recurrent cell; gru resets after the product with h (PyTorch), gru-before before it (the 2014 paper)")
OPTION(LAYERS, "layers", INTEGER, .argument = "N", .unit = "layers", .fallback = "2", .by_task = 1, RANGE(1, 64),
       .group = "Network", .commands = IN(TRAIN) | IN(PLAN), .main = IN(TRAIN), .doc = "number of recurrent layers")
OPTION(HIDDEN, "hidden", INTEGER, .argument = "N", .unit = "units", .fallback = "256", .by_task = 1, RANGE(1, 16384),
       .group = "Network", .commands = IN(TRAIN) | IN(PLAN), .main = IN(TRAIN),
       .doc = "hidden size; units of each layer and direction")
OPTION(EMBED, "embed", INTEGER, .argument = "N", .unit = "elements", .derived = "0; --hidden for words",
       RANGE(0, 16384), .group = "Network", .commands = IN(TRAIN) | IN(PLAN),
       .doc = "embedding size; 0: one-hot inputs")
OPTION(INPUT, "input", INTEGER, .argument = "N", .unit = "tokens", .fallback = "65", RANGE(1, 1114112),
       .group = "Network", .scope = CALL, .commands = IN(PLAN), .doc = "vocabulary size")
OPTION(BIDIRECTIONAL, "bidirectional", FLAG, .fallback = "false", .by_task = 1, .group = "Network",
       .commands = IN(TRAIN) | IN(PLAN) | IN(BENCH), .doc = "bidirectional layers; not for language models")
OPTION(
    STREAMING, "streaming", FLAG, .fallback = "false", .group = "Network", .commands = IN(TRAIN),
    .doc = "one direction only, even if --task uses both; the model then runs step by step, in streams and exported C")
OPTION(
    POOL, "pool", TEXT, .argument = "HOW", .derived = "by --task", .group = "Network", .commands = IN(TRAIN),
    .doc =
        "reduction over the steps of a sequence for tasks with one prediction per sequence; last, mean, max, or both "
        "as mean+max")
OPTION(LOSS, "loss", TEXT, .argument = "NAME", .derived = "by --task", .group = "Network", .commands = IN(TRAIN),
       .doc = loss_doc)
OPTION(PROJECTION, "projection", INTEGER, .argument = "N", .unit = "elements", .fallback = "0", RANGE(0, 16384),
       .group = "Network", .commands = IN(TRAIN) | IN(PLAN),
       .doc = "lstm: projection size of the hidden state; 0: none")
OPTION(PEEPHOLE, "peephole", FLAG, .fallback = "false", .group = "Network", .commands = IN(TRAIN) | IN(PLAN),
       .doc = "lstm: peephole connections from the cell state to the gates")
OPTION(DROPOUT, "dropout", NUMBER, .argument = "P", .fallback = "0", .by_task = 1, RANGE(0, 0.95), .group = "Network",
       .commands = IN(TRAIN) | IN(PLAN), .main = IN(TRAIN), .doc = "dropout probability between layers")
OPTION(TIED, "tied", FLAG, .fallback = "false", .group = "Network", .commands = IN(TRAIN) | IN(PLAN),
       .doc = "output layer shares its weights with the embedding")
OPTION(INIT_WEIGHTS, "init-weights", CHOICE, .argument = "HOW", .choices = "uniform xavier orthogonal",
       .fallback = "uniform", .group = "Network", .commands = IN(TRAIN),
       .doc = "initial weights; orthogonal: recurrent matrices are orthogonal, the others as with xavier")
OPTION(FORGET_BIAS, "forget-bias", NUMBER, .argument = "X", .fallback = "0", RANGE(-100, 100), .group = "Network",
       .commands = IN(TRAIN), .doc = "lstm: added to the initial biases of the forget gate")

/* ---- training ---- */
OPTION(
    BATCH, "batch", INTEGER, .argument = "N", .unit = "sequences", .fallback = "32", .by_task = 1, RANGE(1, 65536),
    .word = "auto", .word_value = UNROLL_AUTO, .suffix = "-tokens", .group = "Training",
    .commands = IN(TRAIN) | IN(PLAN), .main = IN(TRAIN),
    .doc =
        "batch size, in sequences, or auto; auto: the largest power of two that fits into the memory; tasks that read "
        "examples also accept N-tokens, such as 8k-tokens: as many sequences as have N steps together")
OPTION(ACCUMULATE, "accumulate", INTEGER, .argument = "N", .unit = "batches", .fallback = "1", RANGE(1, 65536),
       .group = "Training", .commands = IN(TRAIN), .doc = "batches per update: the update of an N times larger batch")
OPTION(LABEL_SMOOTHING, "label-smoothing", NUMBER, .argument = "P", .fallback = "0", RANGE(0, 0.99),
       .group = "Training", .commands = IN(TRAIN),
       .doc = "label smoothing; probability mass spread uniformly over all classes")
OPTION(CLASS_WEIGHTS, "class-weights", CHOICE, .argument = "HOW", .choices = "none auto", .fallback = "none",
       .group = "Training", .commands = IN(TRAIN),
       .doc = "weights of the classes; auto: each example is weighted by how rare its class is")
OPTION(BPTT, "bptt", INTEGER, .argument = "N", .unit = "steps", .fallback = "64", .by_task = 1, RANGE(1, 65536),
       .word = "full", .group = "Training", .commands = IN(TRAIN) | IN(PLAN), .main = IN(TRAIN),
       .doc = "steps of a sequence per update (truncated BPTT); states carry over between updates, gradients do not; "
              "full: the whole text of each row, one update per epoch")
OPTION(STATEFUL, "stateful", FLAG, .fallback = "true", .group = "Training", .commands = IN(TRAIN),
       .doc = "keep the hidden states from one update to the next; with --no-stateful each sequence starts from zeros")
OPTION(OPTIMIZER, "opt", CHOICE, .argument = "NAME", .choices = optimizer_names, .fallback = "adam",
       .group = "Training", .commands = IN(TRAIN) | IN(PLAN), .main = IN(TRAIN), .doc = "optimizer")
OPTION(RATE, "lr", NUMBER, .argument = "X", .derived = "by --opt", RANGE(1e-9, 100), .group = "Training",
       .commands = IN(TRAIN), .main = IN(TRAIN), .doc = "learning rate (peak of the schedule)")
OPTION(SCHEDULE, "schedule", CHOICE, .argument = "NAME", .choices = schedule_names, .fallback = "cosine", .by_task = 1,
       .group = "Training", .commands = IN(TRAIN), .doc = schedule_doc)
OPTION(SCHEDULE_STEPS, "schedule-steps", INTEGER, .argument = "N", .unit = "updates",
       .derived = "the length of the run", RANGE(1, INFINITY), .scope = FREE, .group = "Training",
       .commands = IN(TRAIN), .with = OPTION_SCHEDULE, .with_values = long_schedules,
       .doc = "length of the cosine and step schedules; with --for they follow the clock unless it is given, and "
              "runs are not reproducible")
OPTION(WARMUP, "warmup", INTEGER, .argument = "N", .fallback = "100", .by_task = 1, RANGE(0, INFINITY),
       .group = "Training", .commands = IN(TRAIN), .doc = "updates of linear learning rate warmup")
OPTION(CLIP, "clip", NUMBER, .argument = "X", .fallback = "1", RANGE(0, 1e9), .group = "Training",
       .commands = IN(TRAIN), .doc = "clip the gradient norm to this value; 0: no clipping")
OPTION(EPOCHS, "epochs", NUMBER, .argument = "N", .unit = "passes", .fallback = "10", .by_task = 1, RANGE(0.001, 1e6),
       .scope = FREE, .group = "Training", .commands = IN(TRAIN), .main = IN(TRAIN), .doc = "number of epochs")
OPTION(STEPS, "steps", INTEGER, .argument = "N", .unit = "updates", RANGE(1, INFINITY), .scope = FREE,
       .group = "Training", .commands = IN(TRAIN), .doc = "number of updates to train, instead of --epochs")
OPTION(FOR, "for", SECONDS, .argument = "TIME", RANGE(0.001, 31536000), .scope = FREE, .group = "Training",
       .commands = IN(TRAIN) | IN(DEMO), .main = IN(TRAIN),
       .doc = "training time instead of --epochs, such as 60s, 5m or 2h; includes the earlier runs of --resume")
OPTION(
    VALIDATION, "val", NUMBER_OR_PATH, .argument = "X",
    .derived = "0.1, groups:0.2 to regress by --group, or 0 for few sequences", RANGE(0, 1e12), .scope = FREE,
    .group = "Training", .commands = IN(TRAIN), .main = IN(TRAIN),
    .doc =
        "validation data, as a file, a share or a number of steps or examples; up to 0.5: that share of the data, "
        "its end for a text or a series, else drawn at random; a whole number: that many of its last steps or "
        "examples, or of examples sorted by class that many over all classes; groups:X: that share or number of whole series, one of each --group; 0: none")
OPTION(TEST, "test", NUMBER_OR_PATH, .argument = "X", .fallback = "0", RANGE(0, 1e12), .scope = FREE,
       .group = "Training", .commands = IN(TRAIN), .main = IN(TRAIN),
       .doc = "test data, given like --val, for one measurement at the end; the best weights are measured")
OPTION(
    AUGMENT, "augment", TEXT, .argument = "CHANGES", .derived = "by the data", .group = "Training",
    .commands = IN(TRAIN),
    .doc =
        "random changes of training examples, new in each epoch, such as noise=0.1,shift=4,mask=8; noise: standard "
        "deviation; shift: steps by which a sequence is moved; mask: consecutive steps that are removed; for the bands "
        "of sounds also stretch: share of the length; warp: share of the frequency; bands: bands that are masked; "
        "level and tilt of the spectrum; floor: noise, in deviations below the loudest step; none")
OPTION(DIVIDE_BY, "divide-by", TEXT, .argument = "HOW", .fallback = "even", .group = "Training", .commands = IN(TRAIN),
       .doc =
           "division of the sequences among ranks; even; length: a similar number of steps each; stratified: a similar "
           "number of each label; or a column of categories, each of whose values only one rank reads")
OPTION(PATIENCE, "patience", INTEGER, .argument = "N", .unit = "validations", .fallback = "0", .by_task = 1,
       RANGE(0, 1000000), .scope = FREE, .group = "Training", .commands = IN(TRAIN), .main = IN(TRAIN),
       .doc = "early stopping after this number of validations without improvement; 0: never, which is the default "
              "with --steps and --for")
OPTION(INIT, "init", PATH, .argument = "MODEL", .group = "Training", .commands = IN(TRAIN), .main = IN(TRAIN),
       .doc = "fine-tune this model or run; its network is used where no option gives another; rows of an embedding or "
              "head are matched by token, and a head of another width starts from random weights")

/* ---- sampling ---- */
OPTION(PROMPT, "prompt", TEXT, .argument = "TEXT", .group = "Sampling", .scope = CALL, .commands = IN(SAMPLE),
       .doc = "text to continue, which is printed first; without it generation starts after a line end")
OPTION(LENGTH, "length", INTEGER, .argument = "N", .unit = "tokens", .fallback = "500", RANGE(1, 2147483647),
       .group = "Sampling", .scope = CALL, .commands = IN(SAMPLE), .doc = "number of tokens to generate")
OPTION(TEMPERATURE, "temperature", NUMBER, .argument = "X", .fallback = "0.8", RANGE(0, 100), .group = "Sampling",
       .scope = CALL, .commands = IN(SAMPLE),
       .doc = "softmax temperature: below 1 sharper, above 1 flatter; 0: always the most likely token")
OPTION(TOP_K, "top-k", INTEGER, .argument = "N", .unit = "tokens", .fallback = "0", RANGE(0, 1114112),
       .group = "Sampling", .scope = CALL, .commands = IN(SAMPLE) | IN(PREDICT),
       .doc = "sample from the N most likely tokens, 0: from all; predict: print that many of the likeliest labels or "
              "items, 0: the likeliest label, all items")
OPTION(TOP_P, "top-p", NUMBER, .argument = "P", .fallback = "1", RANGE(0.000001, 1), .group = "Sampling", .scope = CALL,
       .commands = IN(SAMPLE),
       .doc = "sample from the most likely tokens that have this probability together (nucleus sampling); 1: from all")
OPTION(BEAM, "beam", INTEGER, .argument = "N", .fallback = "0", RANGE(0, 256), .group = "Sampling", .scope = CALL,
       .commands = IN(SAMPLE),
       .doc = "width of a beam search, which writes the most likely text and draws nothing at random; 0: sample")
OPTION(SEED, "seed", INTEGER, .argument = "N", .fallback = "1", RANGE(0, INFINITY), .group = "Randomness",
       .commands = IN(TRAIN) | IN(SAMPLE), .main = IN(TRAIN),
       .doc = "random seed; it decides weights, dropout and sampling, and the same seed gives the same bits")

/* ---- streaming ---- */
OPTION(
    FORMAT, "format", CHOICE, .argument = "FORMAT", .choices = "csv f32 wav npy text",
    .derived = "text for a model of characters, else csv", .group = "Streaming", .scope = CALL, .commands = IN(STREAM),
    .doc = "format of standard input: csv: a frame in a line; f32: raw floats; wav: frames of 16-bit or float samples; "
           "npy: rows of a float32 array; text: characters")
OPTION(WRITE, "write", CHOICE, .argument = "FORMAT", .choices = "csv f32 labels wav", .fallback = "csv",
       .group = "Streaming", .scope = CALL, .commands = IN(STREAM) | IN(PREDICT),
       .doc =
           "output for each frame: csv: a line; f32: the outputs as raw floats, for stream. For text, a line has the "
           "character, its cost in nats, the likeliest next one and its probability; for a classifier of lines, the "
           "character, the label of the text so far and its probability. predict: labels writes a label file of each "
           "sound for Audacity; wav: a sound, of a model with one input and one output")
OPTION(SERIES, "series", TEXT, .argument = "NAME", .group = "Streaming", .scope = CALL,
       .commands = IN(STREAM) | IN(EXPORT) | IN(RUN),
       .doc =
           "for a forecast of several series: the series whose units inputs and predictions have; a target; for groups "
           "GROUP, or GROUP:TARGET")

/* ---- models of other tools ---- */
OPTION(TO, "to", CHOICE, .argument = "FORMAT", .choices = export_names, .group = "Format", .scope = CALL,
       .commands = IN(EXPORT), .doc = "the format to write")
OPTION(
    SAVE, "save", PATH, .argument = "FILE", .letter = 'o', .group = "Format", .scope = CALL,
    .commands = IN(IMPORT) | IN(EXPORT) | IN(RUN) | IN(PREDICT),
    .doc =
        "output file; also -o. For run: y.npy, a .npz of y, hn, cn, or y.csv for one sequence; for predict: csv with "
        "a header; with --write labels a folder, otherwise each file is next to its sound")
OPTION(COMPARE, "compare", FLAG, .fallback = "false", .group = "Format", .scope = CALL, .commands = IN(RUN),
       .doc = "compare the results with y, hn and cn of ARRAYS.npz, within --tolerance")
OPTION(RAW, "raw", FLAG, .fallback = "false", .group = "Format", .scope = CALL,
       .commands = IN(RUN) | IN(STREAM) | IN(EXPORT),
       .doc = "values as the network reads and returns them, not in the units of its training data")
OPTION(VERIFY, "verify", PATH, .argument = "REF.npz", .group = "Format", .scope = CALL, .commands = IN(IMPORT),
       .doc = "compare with arrays of the other tool: x or tokens, and y, hn, cn, with h0, c0, lengths as for run")
OPTION(BATCH_FIRST, "batch-first", FLAG, .fallback = "false", .group = "Format", .scope = CALL,
       .commands = IN(IMPORT) | IN(RUN), .doc = "x, tokens and y are [batch, steps, ..] instead of [steps, batch, ..]")
OPTION(TOLERANCE, "tolerance", NUMBER, .argument = "X", .fallback = "1e-5", RANGE(0, 1), .group = "Format",
       .needs = "compare verify", .scope = CALL, .commands = IN(IMPORT) | IN(RUN),
       .doc = "maximum difference allowed, relative to the largest element of an array")
OPTION(
    PREFIX, "prefix", TEXT, .argument = "TEXT", .group = "Format", .scope = CALL, .commands = IN(IMPORT) | IN(EXPORT),
    .doc =
        "torch: read only tensors whose names begin with it; export: prefix of all names; c99: name of the files, the "
        "struct and the functions")
OPTION(ORDER, "order", TEXT, .argument = "HOW", .of_reader = 1, .group = "Data",
       .commands = IN(TRAIN) | IN(INSPECT) | IN(IMPORT),
       .doc =
           "order of the rows of a series; file: as they are; time: by a column of times; auto (default): by times if "
           "each row has one; import of torch: modules from the input on, such as embed,lstm,fc1:relu,fc2, if their "
           "shapes allow several orders; after a colon the activation of a linear module, before or after for a GRU, "
           "relu for an RNN")
OPTION(NONLINEARITY, "nonlinearity", CHOICE, .argument = "NAME", .choices = "tanh relu", .derived = "tanh",
       .group = "Format", .scope = CALL, .commands = IN(IMPORT),
       .doc = "torch: activation of an RNN whose file does not contain it")
OPTION(GRU_RESET, "gru-reset", CHOICE, .argument = "WHEN", .choices = "after before", .group = "Format", .scope = CALL,
       .commands = IN(IMPORT),
       .doc = "for a GRU whose file is ambiguous: the reset gate acts after the product with h, or before it")
OPTION(CALIBRATE, "calibrate", PATH, .argument = "FILE", .group = "Format", .scope = CALL, .commands = IN(EXPORT),
       .doc = "c99 with --dtype int8: typical inputs, an .npy of T x input or T x B x input numbers, or of T or T x B "
              "tokens; their magnitudes decide the formats; without it: noise of variance 1")

OPTION(
    LANES, "lanes", INTEGER, .argument = "N", .fallback = "0", RANGE(0, 64), .group = "Format", .scope = CALL,
    .commands = IN(EXPORT),
    .doc =
        "verilog: products per clock; 0: the number that is used in 95 % of the clocks (90 % below 64 units) and for "
        "which the target has DSPs")
OPTION(OPERAND, "operand", CHOICE, .argument = "BITS", .choices = "8 16", .fallback = "8", .group = "Format",
       .scope = CALL, .commands = IN(EXPORT), .unit = "bits",
       .doc = "verilog: width of the factor that weights are multiplied with")
OPTION(DELTA, "delta", NUMBER, .argument = "X", .derived = "all products", RANGE(0, 32767), .group = "Format",
       .scope = CALL, .commands = IN(EXPORT),
       .doc = "verilog: skip the products of inputs that moved by no more than this since they were last used")
OPTION(STORE, "store", CHOICE, .argument = "KIND", .choices = "rom ram spram", .fallback = "rom", .group = "Format",
       .scope = CALL, .commands = IN(EXPORT),
       .doc = "verilog: memory of the weights; rom; ram, which can be loaded; or the spram of an iCE40")
OPTION(HEAD, "head", CHOICE, .argument = "KIND", .choices = "linear class", .fallback = "linear", .group = "Format",
       .scope = CALL, .commands = IN(EXPORT),
       .doc = "verilog: outputs; linear: the results; class: the index of the largest one")
OPTION(PROGRAM, "program", INTEGERS, .argument = "T,B", .fallback = "64,1", RANGE(1, 1048576), .group = "Format",
       .scope = CALL, .unit = "steps, rows", .commands = IN(EXPORT), .doc = "stablehlo: fixed shape of the program")

/* ---- the machine: only --dtype and --precision change results ---- */
OPTION(MODE, "mode", CHOICE, .argument = "MODE", .choices = "train eval infer", .fallback = "train", .group = "Machine",
       .scope = CALL, .commands = IN(PLAN), .doc = "mode of the session the plan is made for")
OPTION(
    SPLIT, "split", TEXT, .argument = "CUTS", .group = "Machine", .scope = CALL,
    .commands = IN(TRAIN) | IN(BENCH) | IN(PLAN),
    .doc =
        "parallelism, such as batch=2,layer=2,hidden=2 (data, pipeline, tensor parallel) or time=2; time: steps, from "
        "guessed states that are repaired; for the number of ranks that mpirun starts; auto: the best division on the "
        "cluster of --network")
OPTION(
    WORKERS, "workers", INTEGER, .argument = "N", .unit = "workers", .fallback = "1", RANGE(1, 1024),
    .group = "Machine", .scope = CALL, .commands = IN(TRAIN) | IN(PLAN),
    .doc =
        "number of meshes of ranks, each divided by --split; they share the rows of --batch and synchronize by --sync")
OPTION(SYNC, "sync", TEXT, .argument = "POLICY", .fallback = "every", .scope = FREE, .group = "Machine",
       .commands = IN(TRAIN) | IN(PLAN), .doc = sync_doc)
OPTION(ARRIVALS, "arrivals", TEXT, .argument = "PATH", .scope = CALL, .group = "Machine", .commands = IN(TRAIN),
       .doc = "with --sync gossip or server:S: write the order of arrivals to PATH.RANK")
OPTION(REPLAY, "replay", TEXT, .argument = "PATH", .scope = CALL, .group = "Machine", .commands = IN(TRAIN),
       .doc = "with --sync gossip or server:S: repeat the order of arrivals in PATH.RANK, to the same bits")
OPTION(COMPRESS, "compress", TEXT, .argument = "HOW", .fallback = "none", .scope = FREE, .group = "Machine",
       .commands = IN(TRAIN) | IN(PLAN), .doc = compress_doc)
OPTION(EXACT, "exact", INTEGER, .argument = "V", .unit = "shards", .fallback = "0", RANGE(0, 64), .group = "Machine",
       .commands = IN(TRAIN) | IN(PLAN),
       .doc = "reduce gradients over V fixed shards of the batch: the same bits on any number of ranks up to V; 0: "
              "in the fastest order")
OPTION(SUM, "sum", CHOICE, .argument = "ALGORITHM", .choices = sum_names, .fallback = "auto", .scope = FREE,
       .group = "Machine", .commands = IN(TRAIN) | IN(PLAN), .doc = sum_doc)
OPTION(
    AUTO, "auto", FLAG, .fallback = "false", .group = "Planner", .scope = CALL, .commands = IN(PLAN),
    .doc =
        "choose how a training is best divided among the --hosts of the cluster of --network, and print why; workers, "
        "mesh, chunks, sums, and --sync and --compress if they are not given; priced from plans, nothing is run")
OPTION(
    NETWORK, "network", PATH, .argument = "FILE", .group = "Planner", .scope = CALL, .commands = IN(TRAIN) | IN(PLAN),
    .doc = "a cluster as JSON: how fast a rank is, latency and bandwidth level by level, watts, price; for --auto, and "
           "for --split auto, which chooses the best division for the ranks that were started")
OPTION(GOAL, "goal", CHOICE, .argument = "WHAT", .choices = "time energy memory money", .fallback = "time",
       .group = "Planner", .scope = CALL, .commands = IN(TRAIN) | IN(PLAN),
       .doc = "quantity that the planner minimizes; time, energy or money per update, or the memory of a rank")
OPTION(SLOWER, "slower", NUMBER, .argument = "X", .fallback = "0.01", RANGE(0, 1), .group = "Planner", .scope = CALL,
       .commands = IN(PLAN),
       .doc =
           "with --goal energy: lower the clocks of ranks that would wait, if a step needs at most this fraction more "
           "time; 0: keep them")
OPTION(TIMEOUT, "timeout", SECONDS, .argument = "TIME", .fallback = "60s", RANGE(0.1, 86400), .scope = CALL,
       .group = "Machine", .commands = IN(TRAIN) | IN(BENCH),
       .doc = "time that a rank waits for another one before the run fails")
OPTION(
    DEVICE, "device", TEXT, .argument = "NAME", .derived = "cpu", .scope = FREE, .group = "Machine",
    .commands = IN(TRAIN) | IN(EVAL) | IN(PREDICT) | IN(SAMPLE) | IN(BENCH) | IN(RUN) | IN(STREAM) | IN(PLAN),
    .main = IN(TRAIN),
    .doc =
        "device, such as cpu, cuda, opencl or xla; cuda: the first GPU of NVIDIA, cuda:1: the second, cuda:GPU-.. and "
        "cuda:MIG-..: that GPU or instance of one, by its UUID as nvidia-smi -L prints it, or a unique prefix; "
        "opencl: the first device of OpenCL, opencl:1: the second; xla: any device of XLA through a plugin that is "
        "found, xla:FILE: through this one; tpu: xla:tpu; cpu,opencl: both, each with some layers, or as --split says")
OPTION(TOPOLOGY, "topology", TEXT, .argument = "CHIPS", .fallback = "", .scope = CALL, .group = "Machine",
       .commands = IN(PLAN),
       .doc = "with --device tpu: compiles the step for these chips, v4:2x2x1, v5e:2x2, v5p:2x2x1, v6e:2x2, without "
              "having them, and prints its memory and estimated time")
OPTION(
    LOG_INTERVAL, "log-interval", INTEGER, .argument = "N", .unit = "steps", .fallback = "0", RANGE(0, 1000000),
    .scope = FREE, .group = "Machine", .commands = IN(TRAIN),
    .doc =
        "read the loss every N updates, which synchronizes with the device; 0: each update on the cpu, else every 10")
OPTION(THREADS, "threads", INTEGER, .argument = "N", .fallback = "0", RANGE(0, 1024), .scope = FREE, .group = "Machine",
       .commands = IN(TRAIN) | IN(EVAL) | IN(PREDICT) | IN(BENCH) | IN(RUN) | IN(SERVE),
       .doc = "maximum number of threads, 0: one per available processor; phases that run faster on one thread use one")
OPTION(MEMORY, "memory", BYTES, .argument = "SIZE", .derived = "all that the machine and its control group allow",
       RANGE(1e6, 1e15), .scope = FREE, .group = "Machine", .commands = IN(TRAIN),
       .doc = "memory limit, such as 500M or 2G; a training that needs more is refused")
OPTION(QUEUES, "queues", INTEGER, .argument = "N", .fallback = "0", RANGE(0, 8), .scope = FREE, .group = "Machine",
       .commands = IN(TRAIN) | IN(PLAN) | IN(BENCH),
       .doc =
           "operations that may run at the same time (queues, as CUDA streams); 0: one per direction or chunk if there "
           "are few rows and several threads, otherwise 1")
OPTION(CHUNKS, "chunks", INTEGER, .argument = "N", .fallback = "0", RANGE(0, 64), .scope = FREE, .group = "Machine",
       .commands = IN(TRAIN) | IN(PLAN) | IN(BENCH),
       .doc =
           "pieces of a sequence (of a bidirectional network cut along layers: of the batch) that different layers may "
           "process concurrently; 0: enough to keep a piece of a long training in the caches, otherwise 1")
OPTION(CHUNK, "chunk", INTEGER, .argument = "N", .unit = "steps", .fallback = "0", RANGE(0, 1048576), .scope = FREE,
       .group = "Machine", .commands = IN(TRAIN) | IN(PLAN),
       .doc = "the same by length: at most N steps (or rows of the batch) per piece; 0: as --chunks says")
OPTION(
    CHECKPOINT_TIME, "checkpoint-time", INTEGER, .argument = "N", .unit = "steps", .fallback = "0", RANGE(0, 1048576),
    .word = "auto", .word_value = UNROLL_AUTO, .scope = FREE, .group = "Machine",
    .commands = IN(TRAIN) | IN(PLAN) | IN(BENCH),
    .doc =
        "gradient checkpointing: keep states every N steps and recompute the others in the backward pass; needs less "
        "memory and one more forward pass; 0: keep all; auto: about the square root of --bptt")
OPTION(PIECES, "pieces", INTEGER, .argument = "N", .fallback = "1", RANGE(1, 64), .word = "auto",
       .word_value = UNROLL_AUTO, .scope = FREE, .group = "Machine",
       .commands = IN(TRAIN) | IN(EVAL) | IN(PREDICT) | IN(PLAN) | IN(BENCH) | IN(RUN),
       .doc =
           "pieces of a long sequence, of 64 steps or more, that a recurrent layer runs at once, as rows of a batch, "
           "from guessed states that are then repaired; auto: a number that is fast")
OPTION(TIME_TOLERANCE, "time-tolerance", NUMBER, .argument = "X", .fallback = "1e-6", RANGE(0, 0.1), .scope = FREE,
       .needs = "pieces split", .group = "Machine",
       .commands = IN(TRAIN) | IN(EVAL) | IN(PREDICT) | IN(PLAN) | IN(BENCH) | IN(RUN),
       .doc =
           "for --pieces: maximum difference of states from those of one piece, X max(1, |state|); 0: the same bits, "
           "which cells whose gates multiply no state always have")
OPTION(ISA, "isa", CHOICE, .argument = "ISA", .choices = isa_names, .derived = "the best available", .scope = FREE,
       .group = "Machine", .commands = IN(TRAIN) | IN(STREAM) | IN(SERVE) | IN(BENCH) | IN(RUN),
       .doc =
           "instruction set of the kernels: all give the same bits, except amx for two rows or more and wide layers in "
           "bf16")
OPTION(DTYPE, "dtype", CHOICE, .argument = "TYPE", .choices = "fp32 fp16 bf16 int8", .fallback = "fp32", .scope = CALL,
       .group = "Machine",
       .commands = IN(EVAL) | IN(PREDICT) | IN(SAMPLE) | IN(STREAM) | IN(SERVE) | IN(BENCH) | IN(RUN) | IN(EXPORT),
       .doc = "data type of the weights in matrix products, or in the file written (fp16: export only); bf16 and "
              "int8 are for inference only and change results a little")

OPTION(
    PRECISION, "precision", CHOICE, .argument = "TYPE", .choices = "fp32 tf32 bf16 fp16", .fallback = "fp32",
    .scope = FREE, .group = "Machine",
    .commands = IN(TRAIN) | IN(EVAL) | IN(PREDICT) | IN(SAMPLE) | IN(BENCH) | IN(RUN) | IN(PLAN),
    .doc =
        "data type of matrix products, on devices that have it (bf16: also OpenCL, and CPUs with AVX512_BF16 or AMX); "
        "sums, "
        "states and trained weights stay fp32")

/* ---- ranks that join and leave ---- */
OPTION(RANKS, "ranks", TEXT, .argument = "MIN:MAX", .group = "Ranks", .scope = LINE, .commands = IN(LAUNCH),
       .doc = "number of ranks; one per slot, at least MIN and at most MAX; N: exactly N")
OPTION(HOSTS, "hosts", PATH, .argument = "HOSTS", .derived = "this machine", .group = "Ranks", .scope = LINE,
       .commands = IN(LAUNCH) | IN(PLAN),
       .doc = "launch: a file with one host per line, NAME slots=N; it is read again when it changes, and the training "
              "moves; plan --auto: maximum number of hosts")
OPTION(ENGINE, "engine", CHOICE, .argument = "ENGINE", .choices = "mpi ucx", .fallback = "mpi", .group = "Ranks",
       .scope = LINE, .commands = IN(LAUNCH),
       .doc = "transport between ranks; with ucx the other processes continue when a rank is lost or joins")
OPTION(SPARES, "spares", INTEGER, .argument = "K", .fallback = "0", RANGE(0, 1023), .group = "Ranks", .scope = LINE,
       .commands = IN(LAUNCH), .unit = "processes",
       .doc = "with --engine ucx: spare processes that can replace a lost rank")
OPTION(SILENCE, "silence", SECONDS, .argument = "TIME", .fallback = "10s", RANGE(0.5, 3600), .group = "Ranks",
       .scope = LINE, .commands = IN(LAUNCH), .doc = "heartbeat timeout after which a rank is declared lost")
OPTION(CONTROL, "control", TEXT, .argument = "WHERE", .derived = "this launcher", .group = "Ranks", .scope = LINE,
       .commands = IN(LAUNCH),
       .doc = "owner of the run; etcd:HOST:PORT,.. stores it, so that another launcher takes over if this one is lost")
OPTION(
    ATTEMPTS, "attempts", INTEGER, .argument = "N", .fallback = "10", RANGE(1, 1000000), .group = "Ranks",
    .scope = LINE, .commands = IN(LAUNCH), .unit = "starts",
    .doc =
        "consecutive starts that end with a lost rank and without a new checkpoint, after which the launcher gives up")

/* ---- the run ---- */
OPTION(OUT, "out", DIRECTORY, .argument = "DIR", .derived = "runs/NAME-OF-DATA", .group = "Run", .scope = CALL,
       .commands = IN(TRAIN) | IN(DEMO), .main = IN(TRAIN), .doc = "output directory, which must be new or empty")
OPTION(OVERWRITE, "overwrite", FLAG, .fallback = "false", .group = "Run", .scope = LINE, .commands = IN(TRAIN),
       .doc = "delete the run in --out and start again")
OPTION(RESUME, "resume", DIRECTORY, .argument = "DIR", .group = "Run", .scope = LINE, .commands = IN(TRAIN),
       .main = IN(TRAIN), .doc = "resume this run from its newest checkpoint, with its own settings")
OPTION(VALIDATE_EVERY, "validate-every", INTEGER, .argument = "N", .unit = "updates", .derived = "an epoch",
       RANGE(1, INFINITY), .group = "Run", .commands = IN(TRAIN),
       .doc = "updates between two validations, which also save a checkpoint")
OPTION(
    SAVE_EVERY, "save-every", INTEGER, .argument = "N", .unit = "updates", .derived = "with each validation",
    RANGE(1, INFINITY), .word = "auto", .word_value = UNROLL_AUTO, .scope = FREE, .group = "Run", .commands = IN(TRAIN),
    .doc =
        "updates between two checkpoints; auto: the interval that minimizes checkpoint time plus expected lost work, "
        "from the measured cost of a save and --mtbf")
OPTION(
    MTBF, "mtbf", SECONDS, .argument = "TIME", .fallback = "24h", RANGE(1, 1e9), .scope = FREE, .group = "Run",
    .commands = IN(TRAIN),
    .doc = "mean time between failures, for --save-every auto; unroll launch corrects it from the failures that occur")
OPTION(WATTS, "watts", NUMBER, .argument = "W", .unit = "W", .fallback = "0", RANGE(0, 1e9), .scope = FREE,
       .group = "Run", .commands = IN(TRAIN),
       .doc = "power of each machine, to compute joules; 0: from the kernel's counters, if they can be read")
OPTION(BALANCE, "balance", FLAG, .fallback = "false", .scope = FREE, .group = "Run", .commands = IN(TRAIN),
       .doc =
           "move rows of the batch and layers between ranks when one becomes slower or faster; for ranks that divide "
           "nothing else, without --exact; the bits then depend on the clock")
OPTION(VERIFY_EVERY, "verify-every", INTEGER, .argument = "N", .unit = "updates", .fallback = "0", RANGE(0, INFINITY),
       .scope = FREE, .group = "Run", .commands = IN(TRAIN),
       .doc =
           "updates between two comparisons of the weights, optimizer states and recomputed gradients of all replicas, "
           "also before each checkpoint; a rank that differs is named, and the run ends and can be resumed from the "
           "newest checkpoint; 0: never")
OPTION(KEEP, "keep", INTEGER, .argument = "N", .unit = "checkpoints", .fallback = "1", RANGE(1, 1000000), .scope = FREE,
       .group = "Run", .commands = IN(TRAIN),
       .doc = "number of newest checkpoints to keep, in addition to the best one")
/* Behind the other option of that name, which files of settings mean. */
OPTION(KEEP_COLUMNS, "keep", TEXT, .argument = "A,B", .group = "Format", .scope = CALL, .commands = IN(PREDICT),
       .doc = "columns of the data to print next to predictions, such as an id")
OPTION(SAMPLE_EVERY, "sample-every", SECONDS, .argument = "TIME", .fallback = "5s", RANGE(0, 31536000), .scope = FREE,
       .group = "Run", .commands = IN(TRAIN),
       .doc = "time between two samples of generated text, on a terminal (elsewhere only when given); 0: never")
OPTION(DRY_RUN, "dry-run", FLAG, .fallback = "false", .group = "Run", .scope = LINE, .commands = IN(TRAIN),
       .doc = "check everything, print the settings as JSON, train and write nothing")
OPTION(CONFIG, "config", PATH, .argument = "FILE", .group = "Settings", .scope = LINE,
       .commands = IN(TRAIN) | IN(EVAL) | IN(SAMPLE) | IN(PLAN),
       .doc = "settings as a JSON object, named like the options")
OPTION(SET, "set", TEXT, .argument = "NAME=VALUE", .group = "Settings", .scope = LINE,
       .commands = IN(TRAIN) | IN(EVAL) | IN(SAMPLE) | IN(PLAN), .doc = "the same as --NAME=VALUE, for scripts")

/* ---- curves ---- */
OPTION(OUTPUT, "output", PATH, .argument = "FILE", .letter = 'o', .derived = "the terminal", .group = "Plot",
       .scope = CALL, .commands = IN(PLOT),
       .doc = "write the curves as a picture, FILE.svg; - is standard output; also -o")
OPTION(WHAT, "what", CHOICE, .argument = "WHAT", .choices = "curves answers", .fallback = "curves", .group = "Plot",
       .scope = CALL, .commands = IN(PLOT),
       .doc =
           "picture; curves: the course of the training; answers: predictions of the test, or the best validation, of "
           "one run: forecasts with intervals, confusions of classes, tags over sentences, errors")
OPTION(METRIC, "metric", CHOICE, .argument = "NAME", .choices = "loss val_loss norm lr items_per_second all",
       .fallback = "loss", .group = "Plot", .scope = CALL, .commands = IN(PLOT),
       .doc = "metric to plot; loss: of training and validation; norm: of the gradient")
OPTION(
    AXIS, "axis", CHOICE, .argument = "NAME", .choices = "step epoch seconds sent", .fallback = "step", .group = "Plot",
    .scope = CALL, .commands = IN(PLOT),
    .doc =
        "horizontal axis; epoch or seconds compare runs of different --batch or --bptt; sent: megabytes, for several "
        "ranks")
OPTION(SMOOTH, "smooth", NUMBER, .argument = "X", .fallback = "0.1", RANGE(0, 1), .group = "Plot", .scope = CALL,
       .commands = IN(PLOT),
       .doc = "smoothing: the bold line averages over this fraction of the width on each side; 0: it joins the reports")

/* ---- serving ---- */
OPTION(HOST, "host", TEXT, .argument = "ADDRESS", .fallback = "127.0.0.1", .group = "Server", .scope = CALL,
       .commands = IN(SERVE), .doc = "address to listen on; 0.0.0.0: all of this machine, for other machines")
OPTION(PORT, "port", INTEGER, .argument = "N", .fallback = "8000", RANGE(0, 65535), .group = "Server", .scope = CALL,
       .commands = IN(SERVE), .doc = "port to listen on; 0: any free one, which is printed")
OPTION(SESSIONS, "sessions", INTEGER, .argument = "N", .fallback = "256", RANGE(1, 1000000), .group = "Server",
       .scope = CALL, .commands = IN(SERVE) | IN(BENCH),
       .doc = "maximum number of sequences of each model whose states are kept")
OPTION(DEADLINE, "deadline", SECONDS, .argument = "TIME", .fallback = "100ms", RANGE(0.0001, 3600), .group = "Server",
       .scope = CALL, .commands = IN(SERVE) | IN(BENCH),
       .doc = "time that a step may take; requests that would need longer are refused at once")
OPTION(IDLE, "idle", SECONDS, .argument = "TIME", .fallback = "60s", RANGE(1, 604800), .group = "Server", .scope = CALL,
       .commands = IN(SERVE), .doc = "time without a step after which a session ends")
OPTION(CONNECTIONS, "connections", INTEGER, .argument = "N", .fallback = "1024", RANGE(1, 65536), .group = "Server",
       .scope = CALL, .commands = IN(SERVE) | IN(BENCH), .doc = "maximum number of open connections")
OPTION(MAX_BODY, "max-body", BYTES, .argument = "SIZE", .fallback = "16M", RANGE(1024, 1e9), .group = "Server",
       .scope = CALL, .commands = IN(SERVE), .doc = "maximum size of a request or message")
OPTION(CERTIFICATE, "certificate", PATH, .argument = "FILE", .group = "Server", .scope = CALL, .commands = IN(SERVE),
       .doc = "certificate of TLS, in PEM; needs --private-key")
OPTION(PRIVATE_KEY, "private-key", PATH, .argument = "FILE", .group = "Server", .scope = CALL, .commands = IN(SERVE),
       .doc = "private key of the certificate, in PEM")
OPTION(TOKEN, "token", PATH, .argument = "FILE", .group = "Server", .scope = CALL, .commands = IN(SERVE),
       .doc = "file with the bearer token that every request must have, except the page and /v2/health")
OPTION(CPUS, "cpus", TEXT, .argument = "LIST", .group = "Server", .scope = CALL, .commands = IN(SERVE),
       .doc = "processors, such as 0,2-4: the first runs connections and steps, the others predictions and texts")
OPTION(MODEL_CPU, "model-cpu", NUMBER, .argument = "X", .fallback = "1", RANGE(0.001, 1), .group = "Server",
       .scope = CALL, .commands = IN(SERVE),
       .doc = "maximum fraction of the time of a processor for each model's steps, and for its predictions and texts")
OPTION(MODEL_MEMORY, "model-memory", BYTES, .argument = "SIZE", .derived = "not limited", RANGE(1024, 1e12),
       .group = "Server", .scope = CALL, .commands = IN(SERVE),
       .doc = "maximum memory of the sessions and weights of each model")
OPTION(STANDBY, "standby", TEXT, .argument = "URL", .group = "Server", .scope = CALL, .commands = IN(SERVE),
       .doc = "second server, http://HOST:PORT, that keeps a copy of all sessions; it has the same models and --token")
OPTION(LOG, "log", PATH, .argument = "FILE", .group = "Server", .scope = CALL, .commands = IN(SERVE),
       .doc = "access log, a JSON object a line")

/* ---- measuring ---- */
OPTION(SERVE, "serve", TEXT, .argument = "URL", .group = "Measuring", .scope = CALL, .commands = IN(BENCH),
       .doc =
           "measure a running server instead of a network: http://HOST:PORT/v2/models/MODEL; --sessions of them send "
           "frames over up to 50 --connections, late ones take longer than --deadline")
OPTION(HTTP, "http", FLAG, .fallback = "false", .group = "Measuring", .scope = CALL, .commands = IN(BENCH),
       .needs = "serve",
       .doc = "send a request of the Open Inference Protocol over HTTP for each frame, also to servers of others")
OPTION(FRAME_RATE, "rate", NUMBER, .argument = "X", .fallback = "50", RANGE(0.01, 100000), .group = "Measuring",
       .scope = CALL, .commands = IN(BENCH), .needs = "serve", .doc = "frames a second of each session")
OPTION(SHAPE, "shape", INTEGERS, .argument = "L,T,B,I,H", .fallback = "1,128,32,256,256", RANGE(1, 1048576),
       .group = "Measuring", .unit = "layers, steps, rows, inputs, hidden units", .scope = CALL, .commands = IN(BENCH),
       .doc = "the network and its batch")
OPTION(RAGGED, "ragged", FLAG, .fallback = "false", .group = "Measuring", .scope = CALL, .commands = IN(BENCH),
       .doc = "rows of random lengths from 1 to T; only their steps count as work")
OPTION(PASS, "pass", CHOICE, .argument = "PASS", .choices = "infer forward train stream", .fallback = "train",
       .group = "Measuring", .scope = CALL, .commands = IN(BENCH),
       .doc = "pass to measure; infer: outputs only; forward: also what backward needs; train: forward and backward; "
              "stream: one step at a time, on one thread")
OPTION(PROFILE, "profile", FLAG, .fallback = "false", .group = "Measuring", .scope = CALL, .commands = IN(BENCH),
       .doc = "also print the time of each operation of the plan, and its fraction of the peak")
OPTION(SECONDS, "seconds", SECONDS, .argument = "TIME", .fallback = "1s", RANGE(0.001, 3600), .group = "Measuring",
       .scope = CALL, .commands = IN(BENCH), .doc = "time to measure; at least one run")

/* ---- output ---- */
OPTION(JSON, "json", FLAG, .fallback = "false", .group = "Output", .scope = CALL,
       .commands = IN(TRAIN) | IN(EVAL) | IN(PREDICT) | IN(PLAN) | IN(INSPECT) | IN(CHECK) | IN(DEVICES) | IN(PLOT) |
                   IN(BENCH) | IN(IMPORT) | IN(EXPORT),
       .doc = "print the result as JSON: one object, on the last line of standard output")
OPTION(QUIET, "quiet", FLAG, .fallback = "false", .group = "Output", .scope = CALL, .commands = IN(TRAIN),
       .doc = "print errors only")
OPTION(HELP, "help", FLAG, .letter = 'h', .argument = "[GROUP]", .choices = group_names, .fallback = "false",
       .group = "Output", .scope = LINE, .commands = ~0u,
       .doc = "print this help; also -h; GROUP: only this group of options, or all")
