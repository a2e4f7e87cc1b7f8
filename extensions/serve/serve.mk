# The extension serve: the server, with libwebsockets where it is found, its page, and the load of unroll bench --serve.
# SERVE= leaves libwebsockets out, and the command then says what to install.
ROWS_serve = command=serve command=load
SERVE ?= $(shell printf '\043include <libwebsockets.h>\nint main(void) { return !lws_get_library_version(); }' | \
    $(CC) $(CFLAGS) -x c - -o /dev/null -lwebsockets 2>/dev/null && echo yes)
SERVE_LIBS = $(if $(and $(SERVE),$(filter serve,$(BUILT_EXTENSIONS))),-lwebsockets -lssl -lcrypto)
SERVE_NONE = extensions/serve/cli/serve_none.c
SERVE_LOAD = extensions/serve/cli/load.c
LEFT_OUT  += $(if $(SERVE),$(SERVE_NONE),$(filter-out $(SERVE_NONE) $(SERVE_LOAD),$(wildcard extensions/serve/cli/*.c)))
# The page as an array of bytes.
$B/text/page.inc: extensions/serve/page.html
	@mkdir -p $(@D)
	od -A n -v -t u1 $< | sed 's/ *\([0-9][0-9]*\)/\1,/g' >$@
FLAGS_service = -I$B/text
$B/extensions/serve/cli/service.o: $B/text/page.inc
