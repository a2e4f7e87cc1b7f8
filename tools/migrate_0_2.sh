#!/usr/bin/env bash
# Rewrites C and C++ sources from the names of Unroll 0.1 to those of 0.2:  tools/migrate_0_2.sh FILE|FOLDER ...
# A folder stands for its *.c, *.h, *.cc, *.cpp, *.hpp and *.cu files. It can be run again. It prints the places that have
# to be changed by hand (docs/reference/migration-0.2.md). --table prints the names as a table in Markdown.
set -euo pipefail

# old new; a new name in parentheses is a hint for a change by hand
names() {
    cat <<'NAMES'
unroll_spec unroll_model_config
unroll_spec_default unroll_model_config_default
unroll_spec_auto unroll_model_config_auto
unroll_network_new unroll_model_from_network
unroll_model_spec unroll_model_stack
unroll_model_token_kind unroll_model_tokens
unroll_model_in_units unroll_model_to_units
unroll_import unroll_model_import
unroll_import_default unroll_import_config_default
unroll_export unroll_model_export
unroll_export_default unroll_export_config_default
unroll_run unroll_model_run
unroll_verify unroll_model_verify
unroll_arrays_config unroll_run_config
unroll_arrays_default unroll_run_config_default
unroll_stream_default unroll_stream_config_default
unroll_stream_step_tokens unroll_stream_step
unroll_stream_step_mixed unroll_stream_step
unroll_stream_run_tokens unroll_stream_run
unroll_stream_run_mixed unroll_stream_run
unroll_pool unroll_stream_pool
unroll_pool_config unroll_stream_pool_config
unroll_pool_config_default unroll_stream_pool_config_default
unroll_pool_bytes unroll_stream_pool_bytes
unroll_pool_init unroll_stream_pool_init
unroll_pool_reset unroll_stream_pool_reset
unroll_pool_move unroll_stream_pool_move
unroll_pool_state_bytes unroll_stream_pool_state_bytes
unroll_pool_save unroll_stream_pool_save
unroll_pool_load unroll_stream_pool_load
unroll_pool_slots unroll_stream_pool_slots
unroll_pool_inputs unroll_stream_pool_inputs
unroll_pool_tokens unroll_stream_pool_tokens
unroll_pool_outputs unroll_stream_pool_outputs
unroll_pool_isa unroll_stream_pool_isa
unroll_pool_step unroll_stream_pool_step
unroll_pool_step_mixed unroll_stream_pool_step
unroll_sample unroll_model_sample
unroll_sample_default unroll_sample_config_default
unroll_can_sample unroll_model_can_sample
unroll_session_default unroll_session_config_default
unroll_forward unroll_session_forward
unroll_backward unroll_session_backward
unroll_update unroll_session_update
unroll_step unroll_session_step
unroll_loss_result unroll_session_result
unroll_read unroll_session_read
unroll_write unroll_session_write
unroll_count unroll_session_count
unroll_clear_states unroll_session_reset
unroll_session_span unroll_session_seconds
unroll_session_divided unroll_session_shares
unroll_data_default unroll_dataset_config_default
unroll_data_open unroll_dataset_open
unroll_data_free unroll_dataset_free
unroll_data_tokens unroll_dataset_tokens
unroll_data_vocabulary unroll_dataset_vocabulary
unroll_data_describe unroll_dataset_describe
unroll_data_notes unroll_dataset_notes
unroll_data_summary unroll_dataset_summary
unroll_data_callback unroll_dataset_from_rows
unroll_data_from_arrays unroll_dataset_from_columns
unroll_array unroll_column
unroll_cell unroll_column_kind
UNROLL_CELL_TEXT UNROLL_COLUMN_TEXT
UNROLL_CELL_TOKENS UNROLL_COLUMN_TOKENS
UNROLL_CELL_LABEL UNROLL_COLUMN_LABEL
UNROLL_CELL_WORD UNROLL_COLUMN_WORD
UNROLL_CELL_SET UNROLL_COLUMN_SET
UNROLL_CELL_NUMBERS UNROLL_COLUMN_NUMBERS
unroll_task_network unroll_task_configure
unroll_sampler unroll_sampler_config
unroll_sampler_default unroll_sampler_config_default
unroll_train_config unroll_trainer_config
unroll_train_default unroll_trainer_config_default
unroll_trainer_batch unroll_trainer_choose_batch
unroll_trainer_describe unroll_trainer_metrics
unroll_trainer_divided unroll_trainer_shares
unroll_evaluate unroll_model_evaluate
unroll_can_predict unroll_model_can_predict
unroll_predict unroll_model_predict
unroll_calibration unroll_integer_config
unroll_calibration_default unroll_integer_config_default
unroll_ucx_address unroll_comm_address
unroll_ucx_open unroll_comm_open_world
unroll_plan_default unroll_plan_config_default
unroll_planner_default unroll_planner_config_default
unroll_sync_bytes unroll_plan_sync_bytes
unroll_cell_name (unroll_list)
unroll_optimizer_name (unroll_list)
unroll_loss_name (unroll_list)
unroll_format_name (unroll_list)
unroll_reader_name (unroll_list)
unroll_task_name (unroll_list)
unroll_schedule_name (unroll_list)
unroll_sync_name (unroll_list)
unroll_compressor_name (unroll_list)
unroll_device_name (unroll_list)
unroll_isa_name (unroll_list)
unroll_sum_name (unroll_list)
unroll_library_name (unroll_list)
unroll_reader_option (unroll_list_option)
unroll_task_option (unroll_list_option)
unroll_optimizer_hyperparameter (unroll_list_option)
unroll_hyperparameter (unroll_option)
unroll_shape (unroll_session_find)
UNROLL_CHARACTERS ("chars")
UNROLL_WORDS ("words")
UNROLL_BLANKS ("blanks")
unroll_token_kind (const char *)
NAMES
}

if [ "${1-}" = --table ]; then
    printf '| 0.1 | 0.2 |\n| --- | --- |\n'
    names | sed -E 's/^([^ ]+) \((.*)\)$/| \1 | `\2`, by hand |/; s/^([^ |]+) ([^ ]+)$/| \1 | `\2` |/'
    exit
fi
[ $# -gt 0 ] || { sed -n '2,4s/^# //p' "$0"; exit 2; }

files() {
    local path
    for path; do
        if [ -d "$path" ]; then
            find "$path" -type f \( -name '*.[ch]' -o -name '*.cc' -o -name '*.cpp' -o -name '*.hpp' -o -name '*.cu' \) -print0
        elif [ -f "$path" ]; then
            printf '%s\0' "$path"
        else
            echo "migrate_0_2.sh: '$path' is no file and no folder; fix: name files or folders that exist" >&2
            return 1
        fi
    done
}

# The steps of a stream have one function: its arguments are (stream, tokens, inputs, outputs), NULL for an unused one.
# shellcheck disable=SC2016
program='
BEGIN {
    for (split /\n/, $ENV{NAMES}) {
        my ($old, $new) = split / /, $_, 2;
        if ($new =~ /^\(/) { $hint{$old} = $new =~ s/^\(|\)$//gr } else { $new{$old} = $new }
    }
    $nested = qr/(\((?:[^()]++|(?-1))*+\))/;
    %place = ("stream_step" => [1, 3], "stream_run" => [2, 4], "pool_step" => [3, 5]); # of `inputs`, with the number of arguments
}
sub arguments {
    my ($text, $depth, @list) = (shift, 0, "");
    for (split //, $text) {
        $depth += /[(\[{]/ ? 1 : /[)\]}]/ ? -1 : 0;
        if ($_ eq "," && !$depth) { push @list, "" } else { $list[-1] .= $_ }
    }
    return @list;
}
sub one_step {
    my ($verb, $kind, $call) = @_;
    my @list = arguments(substr $call, 1, -1);
    my ($at, $count) = @{$place{$verb}};
    splice @list, $at + ($kind eq "_tokens"), 0, " NULL" if @list == $count && $kind ne "_mixed";
    return "unroll_" . ($verb =~ /pool/ ? "stream_" : "") . "$verb(" . join(",", @list) . ")";
}
s/\bunroll_(stream_step|stream_run|pool_step)(_tokens|_mixed|)$nested/one_step($1, $2, $3)/ge;
s/\.cell( *= *UNROLL_CELL_)/.kind$1/g;
s/\b(\w+\.)beside\b/$1partner/g;
s/\b((?:unroll|UNROLL)_\w+)\b/$new{$1} \/\/ $1/ge;
# Headers that are new: those whose names the file uses.
if (/^\s*#\s*include\s+([<"])(unroll(?:_train|_advanced)?)\.h[>"]/m) {
    my ($quote, $has) = ($1, $2);
    my %uses = (
        unroll_stream => qr/\bunroll_stream_\w+\(/,
        unroll_network => qr/\bunroll_(?:model_config|layer|network|parameter|input|import_config|export_config|difference)\b|\bunroll_model_(?:new|from_network|network|layers?|stack|parameters?|transfer|import|export|verify)\(/,
        unroll_ranks => qr/\bunroll_(?:comm_\w+|replica\w*|trainer_(?:meet_at|replicate|restore|compare|check\w*))\(/,
        unroll_advanced => qr/\bunroll_session_(?:counters|set_counters|loss_scale|set_loss_scale|operation|seconds|shares|pieces)\(/,
    );
    my %implied = (unroll => [], unroll_train => ["unroll_stream", "unroll_network"], unroll_advanced => [keys %uses]);
    my ($from, $to) = $quote eq "<" ? ("<", ">") : ("\"", "\"");
    for my $header (sort keys %uses) {
        next if grep({ $_ eq $header } @{$implied{$has}}) || !/$uses{$header}/ || /include\s+[<"]$header\.h/;
        s/^(\s*#\s*include\s+[<"]$has\.h[>"].*\n)/$1#include $from$header.h$to\n/m;
    }
}
my $line = 0;
for (split /\n/, $_) {
    $line++;
    while (/\b((?:unroll|UNROLL)_\w+)\b/g) {
        print STDERR "$ARGV:$line: $1: use $hint{$1}\n" if $hint{$1};
    }
}
'
files "$@" | NAMES=$(names) xargs -0 -r perl -0777 -pi -e "$program"
