#include "cli/sound/label_files.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "audio/sound_features.h"
#include "base/try.h"
#include "cli/sound/sound_steps.h"
#include "cli/show/console.h"
#include "cli/show/output.h"

enum { AROUND = 2, MOST = AROUND + 1 }; /* frames on each side of the median filter; more than half of all */

static bool is_tag(const unroll_model *model)
{
    const char *text = unroll_model_schema(model);
    json_t *schema = text ? json_loads(text, 0, NULL) : NULL;
    const char *name = json_string_value(json_object_get(json_object_get(schema, "task"), "name"));
    const bool found = name && strcmp(name, "tag") == 0;
    json_decref(schema);
    return found;
}

unroll_status label_files_open(struct label_files *files, const unroll_model *model, const char *source,
                               const char *folder)
{
    struct sound_steps sound;
    struct features_plan plan;
    *files = (struct label_files){.source = source, .folder = folder, .text = json_object()};
    sound_steps_find(model, &sound);
    if (*sound.features == '\0' || !is_tag(model))
        return complain(UNROLL_USAGE, "--write labels needs a model that predicts a label for each frame of sounds; "
                                      "fix: use --write csv, or train with a file of labels next to each sound");
    if (folder && exists(folder) && !is_directory(folder))
        return complain(UNROLL_USAGE,
                        "-o %s is a file, and --write labels writes a file for each sound; fix: give a "
                        "folder",
                        folder);
    TRY(complain_library(features_plan(sound.features, sound.rate, 1, &plan)));
    files->hop = (double)plan.hop * plan.stack / sound.rate;
    files->window = ((double)plan.window + (double)plan.hop * (plan.stack - 1)) / sound.rate;
    return UNROLL_OK;
}

/* Writes the path of the label file of a sound: in the folder, or next to the sound, which must be a file then. */
static unroll_status find_path(const struct label_files *files, const char *sound, char path[PATH_MAX])
{
    const char *slash = strrchr(sound, '/'), *name = slash ? slash + 1 : sound, *dot = strrchr(name, '.');
    const int stem = dot && dot > name ? (int)(dot - name) : (int)strlen(name);
    int length;
    if (files->folder)
        length = snprintf(path, PATH_MAX, "%s/%.*s.txt", files->folder, stem, name);
    else if (is_directory(files->source))
        length = snprintf(path, PATH_MAX, "%s/%.*s.txt", files->source, (int)(name - sound) + stem, sound);
    else if (strcmp(files->source, sound) == 0)
        length = snprintf(path, PATH_MAX, "%.*s.txt", (int)(name - sound) + stem, sound);
    else
        return complain(UNROLL_USAGE, "'%s' is in no folder, where its labels could be written; fix: -o labels", sound);
    return length < PATH_MAX
               ? UNROLL_OK
               : complain(UNROLL_DATA, "the path of the labels of '%.80s..' is too long; fix: -o labels", sound);
}

/* Returns the tag that most of the frames around frame i have; otherwise its own. The first and the last frame are
 * repeated at the ends. */
static const char *median_tag(const json_t *tags, int64_t i)
{
    const int64_t last = (int64_t)json_array_size(tags) - 1;
    const char *around[2 * AROUND + 1];
    for (int64_t k = 0; k <= 2 * AROUND; k++) {
        const int64_t at = i + k - AROUND;
        around[k] = json_string_value(json_array_get(tags, (size_t)(at < 0 ? 0 : at > last ? last : at)));
    }
    for (int a = 0; a + MOST <= 2 * AROUND + 1; a++) {
        int same = 0;
        for (int b = a; b <= 2 * AROUND; b++) same += strcmp(around[a], around[b]) == 0;
        if (same >= MOST)
            return around[a];
    }
    return around[AROUND];
}

/* Returns where frame i begins to count: halfway between the centers of two frames. */
static double border(const struct label_files *files, int64_t i, int64_t frames)
{
    const double at = ((double)i + 0.5) * files->hop - files->window / 2;
    return i == frames ? (double)frames * files->hop : i > 0 && at > 0 ? at : 0;
}

static void write_lines(struct label_files *files, const json_t *tags, FILE *file)
{
    const int64_t frames = (int64_t)json_array_size(tags);
    for (int64_t from = 0, to; from < frames; from = to) {
        const char *tag = median_tag(tags, from);
        for (to = from + 1; to < frames && strcmp(median_tag(tags, to), tag) == 0;) to++;
        const double begin = border(files, from, frames), end = border(files, to, frames);
        if (strcmp(tag, "none") == 0 || end <= begin) /* the centers of the first frames may be before the sound */
            continue;
        fprintf(file, "%.6f\t%.6f\t%s\n", begin, end, tag);
        files->labels++;
    }
}

/* Refuses characters that a line of labels cannot hold. */
static unroll_status check_tags(const json_t *tags)
{
    const json_t *tag;
    size_t i;
    json_array_foreach(tags, i, tag) if (strpbrk(json_string_value(tag), "\t\r\n")) return complain(
        UNROLL_UNSUPPORTED,
        "the label '%.60s' has a tab or a line end, which label files cannot hold; fix: use --write csv",
        json_string_value(tag));
    return UNROLL_OK;
}

static unroll_status take_answer(struct label_files *files, const json_t *answer)
{
    const json_t *tags = json_object_get(answer, "tags");
    const char *sound = json_string_value(json_object_get(json_object_get(answer, "kept"), "file"));
    char path[PATH_MAX], *text = NULL;
    size_t size;
    if (sound == NULL)
        return complain(UNROLL_RESOURCE, "no memory for labels; fix: predict fewer sounds at once");
    TRY(check_tags(tags));
    TRY(find_path(files, sound, path));
    if (json_object_get(files->text, path))
        return complain(UNROLL_DATA,
                        "two sounds have the label file '%s'; fix: rename '%s', or predict one folder "
                        "at a time",
                        path, sound);
    FILE *file = open_memstream(&text, &size);
    if (file)
        write_lines(files, tags, file);
    const bool written =
        file && fclose(file) == 0 && json_object_set_new(files->text, path, json_stringn(text, size)) == 0;
    free(text);
    return written ? UNROLL_OK : complain(UNROLL_RESOURCE, "no memory for labels; fix: predict fewer sounds at once");
}

int label_files_take(void *arg, const char *json, const char *line)
{
    struct label_files *files = arg;
    (void)line;
    json_t *answer = json_loads(json, 0, NULL);
    files->status = take_answer(files, answer);
    json_decref(answer);
    return files->status != UNROLL_OK;
}

unroll_status label_files_write(struct label_files *files)
{
    const char *path;
    json_t *text;
    json_object_foreach(files->text, path, text) if (exists(path)) return complain(
        UNROLL_USAGE, "'%s' exists and is not replaced; fix: -o with another folder, or remove it", path);
    if (files->folder && mkdir(files->folder, 0777) != 0 && errno != EEXIST)
        return complain(UNROLL_RESOURCE, "cannot create '%s': %s; fix: -o with another folder", files->folder,
                        strerror(errno));
    json_object_foreach(files->text, path, text)
        TRY(replace_file(path, json_string_value(text), json_string_length(text)));
    say("saved label files %s%s: %zu sounds, %zu labels", files->folder ? "in " : "next to the sounds",
        files->folder ? files->folder : "", json_object_size(files->text), files->labels);
    return UNROLL_OK;
}

void label_files_end(struct label_files *files) { json_decref(files->text); }
