# Installation, and the Debian package. Compilation is in the Makefile.
#
# make install [PREFIX=/usr/local] [DESTDIR=]   the command, header, libraries, pkg-config, CMake, manual page,
#                                               completions of shells, documents
# make uninstall                                with the same PREFIX and DESTDIR: removes each of those files
# make deb                                      $B/unroll_VERSION_ARCHITECTURE.deb
PREFIX     ?= /usr/local
BINDIR     ?= $(PREFIX)/bin
LIBDIR     ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
DATADIR    ?= $(PREFIX)/share
OBJCOPY    ?= objcopy
STRIP      ?= strip

P          := $B/package
VERSION    := $(shell sed -n 's/^.define UNROLL_VERSION_[A-Z]* *//p' include/unroll.h | paste -sd.)
SERIES     := $(basename $(VERSION))
SONAME     := libunroll.so.$(basename $(SERIES))
SHARED     := libunroll.so.$(VERSION)

# ---- the libraries ------------------------------------------------------------------------

# The objects of the static library serve the shared one too.
$(OBJECTS): FLAGS += -fPIC

$P/$(SHARED): $(OBJECTS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(SANITIZE) -shared -Wl,-soname,$(SONAME) -Wl,-z,defs $^ $(LIBS) -o $@.whole
	$(STRIP) --strip-unneeded $@.whole -o $@
	@rm -f $@.whole

# Links all objects into one, so that the names which our files share with each other can be made local: a program that
# is linked with the library may have its own function fail().
$P/libunroll.a: $(OBJECTS)
	@mkdir -p $(@D)
	$(CC) -r -nostdlib $^ -o $P/unroll.o
	$(OBJCOPY) --localize-hidden --strip-debug $P/unroll.o
	@rm -f $@
	ar rcs $@ $P/unroll.o

$P/unroll: $B/unroll
	@mkdir -p $(@D)
	$(STRIP) $< -o $@
$P/unroll.1: $B/unroll
	@mkdir -p $(@D)
	$< man >$@
SHELLS = bash zsh fish
$(SHELLS:%=$P/unroll.%): $B/unroll
	@mkdir -p $(@D)
	$< completion $(subst $P/unroll.,,$@) >$@

package: $P/unroll $P/libunroll.a $P/$(SHARED) $P/unroll.1 $(SHELLS:%=$P/unroll.%)

# ---- installing ---------------------------------------------------------------------------

HEADERS    := $(wildcard include/*.h include/*.hpp)
DOCUMENTS  := $(wildcard LICENSE README.md CHANGELOG.md docs/*.md docs/*/*.md docs/*/*.svg docs/guide/gallery/*.svg)
COMPLETION_bash = $(DATADIR)/bash-completion/completions/unroll
COMPLETION_zsh  = $(DATADIR)/zsh/site-functions/_unroll
COMPLETION_fish = $(DATADIR)/fish/vendor_completions.d/unroll.fish
CMAKEDIR    = $(LIBDIR)/cmake/unroll
DOCDIR      = $(DATADIR)/doc/unroll
INSTALLED   = $(BINDIR)/unroll $(HEADERS:include/%=$(INCLUDEDIR)/%) \
    $(addprefix $(LIBDIR)/,libunroll.a $(SHARED) $(SONAME) libunroll.so pkgconfig/unroll.pc) \
    $(addprefix $(CMAKEDIR)/,unroll-config.cmake unroll-config-version.cmake) \
    $(DATADIR)/man/man1/unroll.1 $(foreach s,$(SHELLS),$(COMPLETION_$s)) $(DOCUMENTS:%=$(DOCDIR)/%)

DATA = install -D -m 644
FILL = sed -e 's|@PREFIX@|$(PREFIX)|g' -e 's|@LIBDIR@|$(LIBDIR)|g' -e 's|@INCLUDEDIR@|$(INCLUDEDIR)|g' \
    -e 's|@VERSION@|$(VERSION)|g' -e 's|@SERIES@|$(SERIES)|g' \
    -e 's|@SHARED@|$(SHARED)|g' -e 's|@SONAME@|$(SONAME)|g' \
    -e 's|@ARCHIVE_LIBS@|$(ARCHIVE_LIBS)|g' -e 's|@ARCHIVE_ITEMS@|$(if $(ARCHIVE),-Wl$(comma)--no-as-needed;archive;z;-Wl$(comma)--as-needed;)|g'

# Updates the loader's cache of this machine, unless DESTDIR shows that the files are for another one.
install: package
	install -D -m 755 $P/unroll $(DESTDIR)$(BINDIR)/unroll
	$(DATA) -t $(DESTDIR)$(INCLUDEDIR) $(HEADERS)
	$(DATA) $P/libunroll.a $(DESTDIR)$(LIBDIR)/libunroll.a
	$(DATA) $P/$(SHARED) $(DESTDIR)$(LIBDIR)/$(SHARED)
	ln -sf $(SHARED) $(DESTDIR)$(LIBDIR)/$(SONAME)
	ln -sf $(SONAME) $(DESTDIR)$(LIBDIR)/libunroll.so
	$(DATA) $P/unroll.1 $(DESTDIR)$(DATADIR)/man/man1/unroll.1
	@$(foreach s,$(SHELLS),$(DATA) $P/unroll.$s $(DESTDIR)$(COMPLETION_$s) &&) true
	@$(FILL) tools/package/unroll.pc.in >$P/unroll.pc
	$(DATA) $P/unroll.pc $(DESTDIR)$(LIBDIR)/pkgconfig/unroll.pc
	@$(FILL) tools/package/unroll-config.cmake.in >$P/unroll-config.cmake
	@$(FILL) tools/package/unroll-config-version.cmake.in >$P/unroll-config-version.cmake
	$(DATA) -t $(DESTDIR)$(CMAKEDIR) $P/unroll-config.cmake $P/unroll-config-version.cmake
	@$(foreach d,$(DOCUMENTS),$(DATA) $d $(DESTDIR)$(DOCDIR)/$d &&) true
	@test -n '$(DESTDIR)' || test "$$(id -u)" != 0 || ldconfig

uninstall:
	rm -f $(addprefix $(DESTDIR),$(INSTALLED))
	@for d in $(addprefix $(DESTDIR),$(CMAKEDIR) $(DOCDIR)/docs/guide/gallery $(foreach f,guide howto reference internals,$(DOCDIR)/docs/$f) $(DOCDIR)/docs $(DOCDIR)); do \
	    [ ! -d $$d ] || rmdir --ignore-fail-on-non-empty $$d || exit; done
	@test -n '$(DESTDIR)' || test "$$(id -u)" != 0 || ldconfig

# ---- Debian -------------------------------------------------------------------------------

# Needs only dpkg-deb: nothing runs at installation but a trigger that updates the loader's cache.
# The libc dependency is the oldest version that has all required symbols.
DEB_MAINTAINER ?= The Unroll authors <unroll@localhost>
deb: package
	@command -v dpkg-deb >/dev/null || { echo 'make deb: there is no dpkg-deb here; install dpkg' >&2; exit 1; }
	@rm -rf $P/deb
	@$(MAKE) -s --no-print-directory install DESTDIR=$P/deb PREFIX=/usr \
	    LIBDIR=/usr/lib/$$($(CC) -print-multiarch) COMPLETION_zsh=/usr/share/zsh/vendor-completions/_unroll
	@gzip -9n $P/deb/usr/share/man/man1/unroll.1
	@if [ -f LICENSE ]; then mv $P/deb/usr/share/doc/unroll/LICENSE $P/deb/usr/share/doc/unroll/copyright; fi
	@mkdir $P/deb/DEBIAN
	@echo 'activate-noawait ldconfig' >$P/deb/DEBIAN/triggers
	@cd $P/deb && find usr -type f -exec md5sum {} + >DEBIAN/md5sums
	@libc=$$(objdump -T $P/unroll $P/$(SHARED) | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n 1); \
	 sed -e 's/@VERSION@/$(VERSION)/' -e 's/@MAINTAINER@/$(DEB_MAINTAINER)/' -e 's/@ARCHIVE@/$(if $(ARCHIVE),$(comma) libarchive13 | libarchive13t64$(comma) zlib1g)$(if $(SERVE_LIBS),$(comma) libwebsockets17 | libwebsockets19t64$(comma) libssl3 | libssl3t64)/' -e "s/@LIBC@/$${libc#GLIBC_}/" \
	     -e "s/@ARCHITECTURE@/$$(dpkg --print-architecture)/" \
	     -e "s/@KIBIBYTES@/$$(du -sk $P/deb/usr | cut -f 1)/" tools/package/control.in >$P/deb/DEBIAN/control
	dpkg-deb --root-owner-group --build $P/deb $B/unroll_$(VERSION)_$$(dpkg --print-architecture).deb

.PHONY: package install uninstall deb

# One file without shared libraries, for any Linux of that processor.
static:
	@tools/static.sh $(ARCH) $B

# The command for browsers, and its page.
wasm:
	@tools/wasm.sh $B
.PHONY: static wasm
