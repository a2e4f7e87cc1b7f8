/* How a text is cut into tokens. */
#pragma once

enum token_kind { CUT_CHARACTERS, CUT_WORDS, CUT_BLANKS };
enum { TOKEN_KINDS = CUT_BLANKS + 1 };

/* As the option `tokens` and unroll_model_tokens have it. */
static const char *const token_kind_names[TOKEN_KINDS] = {"chars", "words", "blanks"};
