#include "redis_server.hpp"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "blocking_client.hpp"

namespace penstock::redis_test {

namespace {

std::string program() {
  const char* other = std::getenv("PENSTOCK_REDIS_SERVER");
  return other != nullptr && *other != '\0' ? other : "redis-server";
}

}  // namespace

bool have_redis_server() {
  return std::system(("command -v '" + program() + "' >/dev/null 2>&1").c_str()) == 0;
}

int free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  const bool bound = ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0 &&
                     ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  ::close(fd);
  if (!bound) throw std::runtime_error("no free port");
  return ntohs(address.sin_port);
}

redis_server::redis_server(std::vector<std::string> options, int port, const std::string& sentinel)
    : options_(std::move(options)), sentinel_(!sentinel.empty()), port_(port) {
  std::string name = (std::filesystem::temp_directory_path() / "penstock-redis-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  folder_ = name;
  socket_path_ = folder_ + "/s";
  if (sentinel_) std::ofstream(folder_ + "/sentinel.conf") << sentinel;
  start();
}

redis_server::~redis_server() {
  stop();
  std::error_code ignored;  // a folder that stays behind harms no later test
  std::filesystem::remove_all(folder_, ignored);
}

void redis_server::start() {
  std::vector<std::string> words{program()};
  if (sentinel_) words.insert(words.end(), {folder_ + "/sentinel.conf", "--sentinel"});
  words.insert(words.end(),
               {"--port", std::to_string(port_), "--unixsocket", socket_path_, "--dir", folder_,
                "--logfile", folder_ + "/log", "--daemonize", "no", "--bind", "127.0.0.1"});
  if (!sentinel_) words.insert(words.end(), {"--save", ""});
  words.insert(words.end(), options_.begin(), options_.end());
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("fork");
  if (pid_ == 0) {
    const int null = ::open("/dev/null", O_RDWR);
    ::dup2(null, 1);
    ::dup2(null, 2);
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  for (int i = 0; i < 1000; ++i) {
    if (blocking_client::answers(socket_path_)) return;
    if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
      pid_ = -1;
      break;
    }
    ::usleep(10'000);
  }
  throw std::runtime_error(program() + " did not start: " + log());
}

void redis_server::stop() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void redis_server::pause() {
  ::kill(pid_, SIGSTOP);
}
void redis_server::resume() {
  ::kill(pid_, SIGCONT);
}

std::string redis_server::log() const {
  std::ifstream in(folder_ + "/log");
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace penstock::redis_test
