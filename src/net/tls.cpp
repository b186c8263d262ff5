#include "net/tls.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

namespace penstock::net {
namespace {

struct deleter {
  void operator()(SSL_CTX* p) const noexcept { SSL_CTX_free(p); }
  void operator()(SSL* p) const noexcept { SSL_free(p); }
};
using context_ptr = std::unique_ptr<SSL_CTX, deleter>;

constexpr std::size_t record_max = 16U << 10U;
constexpr std::size_t ticket_keys_size = 80;  // SSL_CTX_set_tlsext_ticket_keys(3): 16 + 32 + 32

// What OpenSSL says last, as one sentence; its queue is empty afterwards.
std::string last_error() {
  const auto code = ERR_peek_last_error();
  const char* reason = code != 0 ? ERR_reason_error_string(code) : nullptr;
  ERR_clear_error();
  return reason != nullptr ? reason : "unknown";
}

// --- a socket as OpenSSL sees it: octets read ahead first, and never a SIGPIPE

struct transport {
  int descriptor;
  std::string received;
};

int transport_write(BIO* bio, const char* octets, int size) {
  auto& t = *static_cast<transport*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  ssize_t n = 0;
  do {
    n = ::send(t.descriptor, octets, static_cast<std::size_t>(size), MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (n < 0 && errno == EINTR);
  if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS))
    BIO_set_retry_write(bio);
  return static_cast<int>(n);
}

int transport_read(BIO* bio, char* to, int size) {
  auto& t = *static_cast<transport*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  if (!t.received.empty()) {
    const std::size_t n = std::min(t.received.size(), static_cast<std::size_t>(size));
    std::memcpy(to, t.received.data(), n);
    t.received.erase(0, n);
    return static_cast<int>(n);
  }
  ssize_t n = 0;
  do {
    n = ::recv(t.descriptor, to, static_cast<std::size_t>(size), MSG_DONTWAIT);
  } while (n < 0 && errno == EINTR);
  if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) BIO_set_retry_read(bio);
  return static_cast<int>(n);
}

long transport_control(BIO*, int command, long, void*) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

const BIO_METHOD* transport_method() {
  static const BIO_METHOD* const method = [] {
    BIO_METHOD* m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "penstock socket");
    BIO_meth_set_write(m, transport_write);
    BIO_meth_set_read(m, transport_read);
    BIO_meth_set_ctrl(m, transport_control);
    return m;
  }();
  return method;
}

void set_common(SSL_CTX* context, tls_version least) {
  SSL_CTX_set_min_proto_version(context,
                                least == tls_version::v1_3 ? TLS1_3_VERSION : TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  // Buffers exist only while octets are in them; a partial write reports what went.
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_read_ahead(context, 1);  // a record's header and content with one system call
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
}

// Static, because OpenSSL keeps a pointer into it.
constexpr std::array<unsigned char, 9> our_protocols{8, 'h', 't', 't', 'p', '/', '1', '.', '1'};

int choose_protocol(SSL*, const unsigned char** out, unsigned char* out_size,
                    const unsigned char* offered, unsigned int offered_size, void*) {
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, out_size, our_protocols.data(), our_protocols.size(), offered,
                            offered_size) != OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

// Which certificates a server has. Belongs to the SSL_CTX that sessions start with, and lives as
// long: sessions keep that one, and may be in the middle of their handshake when a reload has
// replaced everything else.
struct server_names {
  SSL_CTX* first;  // the owner
  std::vector<context_ptr> others;
};

int names_index() {
  static const int index = SSL_CTX_get_ex_new_index(
      0, nullptr, nullptr, nullptr, [](void*, void* names, CRYPTO_EX_DATA*, int, long, void*) {
        delete static_cast<server_names*>(names);
      });
  return index;
}

bool is_for(SSL_CTX* context, const char* name) {
  return X509_check_host(SSL_CTX_get0_certificate(context), name, 0, 0, nullptr) == 1;
}

int choose_certificate(SSL* ssl, int*, void* argument) {
  const auto& names = *static_cast<const server_names*>(argument);
  const char* name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
  if (name == nullptr) return SSL_TLSEXT_ERR_NOACK;
  SSL_CTX* chosen = is_for(names.first, name) ? names.first : nullptr;
  for (auto at = names.others.begin(); chosen == nullptr && at != names.others.end(); ++at) {
    if (is_for(at->get(), name)) chosen = at->get();
  }
  if (chosen == nullptr) return SSL_TLSEXT_ERR_NOACK;  // the first one serves
  if (SSL_get_SSL_CTX(ssl) != chosen) SSL_set_SSL_CTX(ssl, chosen);
  return SSL_TLSEXT_ERR_OK;
}

result<context_ptr> server_context(const certificate_files& files, tls_version least) {
  context_ptr context(SSL_CTX_new(TLS_server_method()));
  if (!context) return error{errc::io, "TLS: " + last_error()};
  set_common(context.get(), least);
  SSL_CTX_set_options(context.get(), SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
  SSL_CTX_set_num_tickets(context.get(), 1);
  constexpr std::string_view id = "penstock";
  SSL_CTX_set_session_id_context(context.get(), reinterpret_cast<const unsigned char*>(id.data()),
                                 id.size());
  SSL_CTX_set_alpn_select_cb(context.get(), choose_protocol, nullptr);
  ERR_clear_error();
  if (SSL_CTX_use_certificate_chain_file(context.get(), files.certificate.c_str()) != 1) {
    return error{errc::invalid_config, "certificate " + files.certificate + ": " + last_error()};
  }
  // A passphrase would be asked for on the terminal.
  SSL_CTX_set_default_passwd_cb(context.get(), [](char*, int, int, void*) { return 0; });
  if (SSL_CTX_use_PrivateKey_file(context.get(), files.key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context.get()) != 1) {
    return error{errc::invalid_config, "key " + files.key + " for certificate " +
                                           files.certificate + ": " + last_error()};
  }
  return context;
}

}  // namespace

// --- contexts

struct tls_context::state {
  context_ptr first;  // what sessions start with, and keep
  bool verify = false;
};

tls_context::tls_context(std::unique_ptr<state> s) noexcept : state_(std::move(s)) {}
tls_context::~tls_context() = default;

result<std::shared_ptr<const tls_context>> tls_context::server(const tls_server_options& options,
                                                               const tls_context* previous) {
  auto s = std::make_unique<state>();
  auto names = std::make_unique<server_names>();
  for (const auto& files : options.certificates) {
    auto context = server_context(files, options.least);
    if (!context) return context.error();
    if (s->first) {
      names->others.push_back(std::move(*context));
    } else {
      s->first = std::move(*context);
    }
  }
  if (!s->first) return error{errc::invalid_config, "TLS needs a certificate"};
  SSL_CTX* first = s->first.get();
  names->first = first;
  if (SSL_CTX_set_ex_data(first, names_index(), names.get()) != 1) {
    return error{errc::io, "TLS: " + last_error()};
  }
  SSL_CTX_set_tlsext_servername_callback(first, choose_certificate);
  SSL_CTX_set_tlsext_servername_arg(first, names.release());
  if (previous != nullptr) {
    std::array<unsigned char, ticket_keys_size> keys{};
    SSL_CTX* old = previous->state_->first.get();
    if (SSL_CTX_get_tlsext_ticket_keys(old, keys.data(), keys.size()) == 1) {
      SSL_CTX_set_tlsext_ticket_keys(first, keys.data(), keys.size());
    }
    OPENSSL_cleanse(keys.data(), keys.size());
  }
  return std::shared_ptr<const tls_context>(std::make_shared<tls_context>(std::move(s)));
}

result<std::shared_ptr<const tls_context>> tls_context::client(const tls_client_options& options) {
  auto s = std::make_unique<state>();
  context_ptr context(SSL_CTX_new(TLS_client_method()));
  if (!context) return error{errc::io, "TLS: " + last_error()};
  set_common(context.get(), tls_version::v1_2);
  s->verify = options.verify;
  if (options.verify) {
    ERR_clear_error();
    const int loaded =
        options.ca_file.empty()
            ? SSL_CTX_set_default_verify_paths(context.get())
            : SSL_CTX_load_verify_locations(context.get(), options.ca_file.c_str(), nullptr);
    if (loaded != 1) {
      return error{errc::invalid_config, "authorities " + options.ca_file + ": " + last_error()};
    }
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  }
  s->first = std::move(context);
  return std::shared_ptr<const tls_context>(std::make_shared<tls_context>(std::move(s)));
}

// --- sessions

struct tls_session::state {
  state(SSL_CTX* context, int descriptor, std::string_view received)
      : socket{descriptor, std::string(received)}, ssl(SSL_new(context)) {
    if (!ssl) return;
    BIO* bio = BIO_new(transport_method());
    if (bio == nullptr) {
      ssl.reset();
      return;
    }
    BIO_set_data(bio, &socket);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl.get(), bio, bio);
  }

  transport socket;
  std::unique_ptr<SSL, deleter> ssl;  // null: no memory; every call fails
  bool usable = true;                 // no fatal error yet: close_notify may be sent
  const char* failure = "the TLS handshake failed";

  // What OpenSSL wants after a call that returned `code`.
  status after(int code) noexcept {
    switch (SSL_get_error(ssl.get(), code)) {
      case SSL_ERROR_NONE:
        return status::done;
      case SSL_ERROR_WANT_READ:
        return status::want_read;
      case SSL_ERROR_WANT_WRITE:
        return status::want_write;
      case SSL_ERROR_ZERO_RETURN:
        return status::ended;
      default:
        usable = false;
        return status::failed;
    }
  }
};

tls_session::tls_session(const tls_context& context, int descriptor, std::string_view received)
    : state_(std::make_unique<state>(context.state_->first.get(), descriptor, received)) {
  if (state_->ssl) SSL_set_accept_state(state_->ssl.get());
}

tls_session::tls_session(const tls_context& context, int descriptor, host_name host)
    : state_(std::make_unique<state>(context.state_->first.get(), descriptor, std::string_view{})) {
  SSL* ssl = state_->ssl.get();
  if (ssl == nullptr) return;
  SSL_set_connect_state(ssl);
  const std::string name(host.text);
  X509_VERIFY_PARAM* checked = SSL_get0_param(ssl);
  const bool is_address = X509_VERIFY_PARAM_set1_ip_asc(checked, name.c_str()) == 1;
  if (!is_address) {
    SSL_set_tlsext_host_name(ssl, name.c_str());
    // A name that cannot be checked must not pass unchecked.
    if (SSL_set1_host(ssl, name.c_str()) != 1) state_->ssl.reset();
  }
  ERR_clear_error();
}

tls_session::~tls_session() = default;

tls_session::status tls_session::handshake() noexcept {
  if (!state_->ssl) return status::failed;
  ERR_clear_error();
  const auto outcome = state_->after(SSL_do_handshake(state_->ssl.get()));
  if (outcome == status::failed) {
    if (SSL_get_verify_result(state_->ssl.get()) != X509_V_OK) {
      state_->failure = X509_verify_cert_error_string(SSL_get_verify_result(state_->ssl.get()));
    }
    ERR_clear_error();
  }
  return outcome == status::ended ? status::failed : outcome;
}

tls_session::status tls_session::read(char* to, std::size_t room, std::size_t& octets) noexcept {
  octets = 0;
  if (!state_->ssl) return status::failed;
  ERR_clear_error();
  const int n =
      SSL_read(state_->ssl.get(), to, static_cast<int>(std::min<std::size_t>(room, INT_MAX)));
  if (n <= 0) return state_->after(n);
  octets = static_cast<std::size_t>(n);
  return status::done;
}

tls_session::status tls_session::write(const iovec* pieces, int count,
                                       std::size_t& octets) noexcept {
  octets = 0;
  if (!state_->ssl) return status::failed;
  // One record for what belongs together; per thread, because sessions have no memory to spare.
  thread_local std::array<char, record_max> record;
  std::size_t offset = 0;  // within the first piece
  while (count > 0) {
    std::size_t size = 0;
    std::size_t skip = offset;
    for (int i = 0; i < count && size < record.size(); ++i) {
      const std::size_t n = std::min(pieces[i].iov_len - skip, record.size() - size);
      std::memcpy(record.data() + size, static_cast<const char*>(pieces[i].iov_base) + skip, n);
      size += n;
      skip = 0;
    }
    if (size == 0) return status::done;
    ERR_clear_error();
    const int n = SSL_write(state_->ssl.get(), record.data(), static_cast<int>(size));
    if (n <= 0) return state_->after(n);
    octets += static_cast<std::size_t>(n);
    offset += static_cast<std::size_t>(n);
    while (count > 0 && offset >= pieces->iov_len) {
      offset -= pieces->iov_len;
      ++pieces;
      --count;
    }
  }
  return status::done;
}

bool tls_session::holds_input() const noexcept {
  return state_->ssl &&
         (!state_->socket.received.empty() || SSL_has_pending(state_->ssl.get()) == 1);
}

void tls_session::close_notify() noexcept {
  if (!state_->ssl || !state_->usable || SSL_in_init(state_->ssl.get()) == 1) return;
  ERR_clear_error();
  SSL_shutdown(state_->ssl.get());  // sent or not: the caller closes in any case
  ERR_clear_error();
}

bool tls_session::resumed() const noexcept {
  return state_->ssl && SSL_session_reused(state_->ssl.get()) == 1;
}

const char* tls_session::failure() const noexcept {
  return state_->failure;
}

}  // namespace penstock::net
