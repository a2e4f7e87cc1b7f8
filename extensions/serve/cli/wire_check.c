/* Checks of addresses and certificates, whose errors libwebsockets does not report. */
#include <errno.h>
#include <netdb.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "cli/show/console.h"
#include "extensions/serve/cli/wire.h"

/* libwebsockets says nothing that a user understands when it cannot listen: tries it before. */
unroll_status wire_check_address(const struct wire_config *c)
{
    char port[16];
    struct addrinfo wish = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICHOST}, *found = NULL;
    const int yes = 1;
    snprintf(port, sizeof port, "%d", c->port);
    if (getaddrinfo(c->host, port, &wish, &found) || !found)
        return complain(UNROLL_USAGE, "--host: '%s' is not an address; fix: write for example --host 127.0.0.1",
                        c->host);
    int socket_ = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    int error = socket_ < 0 || bind(socket_, found->ai_addr, found->ai_addrlen) ? errno : 0;
    if (!error && listen(socket_, 1))
        error = errno;
    freeaddrinfo(found);
    if (socket_ >= 0)
        close(socket_);
    if (error)
        return complain(UNROLL_RESOURCE,
                        "cannot listen on %s, port %d: %s; fix: use another --port, or --port 0 for a free one",
                        c->host, c->port, strerror(error));
    return UNROLL_OK;
}

/* Checked here, because libwebsockets serves without TLS if it cannot read the files. */
unroll_status wire_check_certificate(const struct wire_config *c)
{
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    const bool fits = context && SSL_CTX_use_certificate_chain_file(context, c->certificate) == 1 &&
                      SSL_CTX_use_PrivateKey_file(context, c->key, SSL_FILETYPE_PEM) == 1 &&
                      SSL_CTX_check_private_key(context) == 1;
    struct tm day = {0};
    char text[32] = "";
    if (fits && X509_cmp_current_time(X509_get0_notAfter(SSL_CTX_get0_certificate(context))) < 0 &&
        ASN1_TIME_to_tm(X509_get0_notAfter(SSL_CTX_get0_certificate(context)), &day))
        strftime(text, sizeof text, "%Y-%m-%d", &day);
    SSL_CTX_free(context);
    if (!fits)
        return complain(
            UNROLL_DATA,
            "the certificate '%s' and the key '%s' cannot be used; fix: use files in PEM that belong together",
            c->certificate, c->key);
    if (*text)
        return complain(UNROLL_DATA, "the certificate '%s' expired on %s; fix: renew it", c->certificate, text);
    return UNROLL_OK;
}
