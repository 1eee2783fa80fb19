// SPDX-License-Identifier: BSD-3-Clause
// The command `peal tls self-signed`: writes a self-signed certificate and its key, for trying out TLS. A file gets its
// name only when it is complete. A server that watches the file therefore never reads half of it.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <expected>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cli/choice.h>
#include <cli/command.h>
#include <cli/number_option.h>
#include <peal/base/fd.h>
#include <peal/base/result.h>
#include <peal/tls/self_signed.h>

namespace peal::cli {
namespace {

constexpr long kMostDays = 36'500;

struct SelfSignedArguments {
  SelfSignedOptions options;
  long days = SelfSignedOptions().valid.count();
  std::string certificate_file;  // if empty, the first host name with .pem is used
  std::string key_file;          // if empty, the first host name with .key is used
  bool force = false;
};

// Turns a host name into the name of a file. Replaces every character except letters, digits, '-', '_' and '.' with
// '_', because a shell would interpret some of them. For example, "*.example.org" becomes "_.example.org".
std::string file_stem(std::string name) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
  for (char& c : name) {
    if (!kPlain.contains(c)) c = '_';
  }
  return name;
}

using Written = std::expected<void, std::string>;

Written written_or_why(const std::string& path, bool done) {
  if (done) return {};
  return std::unexpected(fmt::format("{} cannot be written: {}", path, errno_code(errno).message()));
}

// NewFile writes a file under a temporary name in the same folder. When the file is complete, put() gives the file its
// real name.
class NewFile {
 public:
  explicit NewFile(std::string path) : path_(std::move(path)) {}
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile() {
    if (!beside_.empty()) ::unlink(beside_.c_str());
  }

  Written write(std::string_view text, mode_t mode) {
    std::string beside = path_ + ".XXXXXX";
    const Fd file(::mkostemp(beside.data(), O_CLOEXEC));
    if (!file) return written_or_why(path_, false);
    beside_ = std::move(beside);
    return written_or_why(path_,
                          write_whole(file.get(), text) && ::fchmod(file.get(), mode) == 0 && ::fsync(file.get()) == 0);
  }
  // Gives the file its real name. If a file of that name exists, put(true) replaces it, and put(false) fails.
  Written put(bool force) {
    const bool done = (force ? ::rename(beside_.c_str(), path_.c_str()) : ::link(beside_.c_str(), path_.c_str())) == 0;
    if (done && force) beside_.clear();
    return written_or_why(path_, done);
  }

 private:
  const std::string path_;
  std::string beside_;  // path of the temporary file; empty if there is none
};

// Writes the key and the certificate. First writes both under temporary names, so that a full disk, for example, leaves
// neither file. Then gives the key its real name, and the certificate last. If this last step fails, removes the key
// again, because a key without its certificate is of no use. In two cases, the new key stays without its certificate:
// - The last step fails and `force` is true. The new key has then already replaced an old one, if there was one.
// - The program ends before the last step.
Written write_both(const SelfSigned& made, const std::string& certificate, const std::string& key, bool force) {
  constexpr mode_t kForOwner = 0600;
  constexpr mode_t kForAll = 0644;
  for (const std::string& path : {certificate, key}) {
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored))
      return std::unexpected(path + " cannot be written: it is a folder");
  }
  NewFile new_key(key);
  NewFile new_certificate(certificate);
  Written done = new_key.write(made.key_pem, kForOwner);
  if (done) done = new_certificate.write(made.chain_pem, kForAll);
  if (done) done = new_key.put(force);
  if (!done) return done;
  done = new_certificate.put(force);
  if (!done && !force) ::unlink(key.c_str());
  return done;
}

// Returns the first of `paths` that exists, or null if none of them exists.
const std::string* taken(const std::vector<const std::string*>& paths) {
  for (const std::string* path : paths) {
    std::error_code ignored;
    if (std::filesystem::symlink_status(*path, ignored).type() != std::filesystem::file_type::not_found) return path;
  }
  return nullptr;
}

std::string what_was_written(const SelfSignedArguments& words, const std::string& certificate, const std::string& key) {
  const auto until = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now() + words.options.valid);
  return fmt::format(
      "{}: a certificate for {}, valid until {:%F}; only clients that are told to trust this file accept it\n"
      "{}: its key; only its owner may read the file\n"
      "a server that uses it: peal serve http --tls-cert {} --tls-key {} --listen 127.0.0.1:8443\n"
      "a client that trusts it: peal load http https://127.0.0.1:8443/ --tls-ca {} --tls-name {}\n",
      certificate, fmt::join(words.options.names, ", "), fmt::gmtime(std::chrono::system_clock::to_time_t(until)), key,
      certificate, key, certificate, words.options.names.front());
}

int write_self_signed(SelfSignedArguments& words) {
  words.options.valid = std::chrono::days(words.days);
  const TlsResult<SelfSigned> made = make_self_signed(words.options);
  if (!made) return complain(kCalledWrongly, made.error());
  const std::string stem = file_stem(words.options.names.front());
  const std::string certificate = words.certificate_file.empty() ? stem + ".pem" : words.certificate_file;
  const std::string key = words.key_file.empty() ? stem + ".key" : words.key_file;
  if (certificate == key) return complain(kCalledWrongly, "--out-cert and --out-key name the same file");
  if (const std::string* path = words.force ? nullptr : taken({&certificate, &key})) {
    return complain(kFailed, fmt::format("{} exists already: give --force to overwrite it", *path));
  }
  if (const Written done = write_both(*made, certificate, key, words.force); !done) {
    return complain(kFailed, done.error());
  }
  const bool said = say(stdout, what_was_written(words, certificate, key));
  return said ? kDone : complain(kFailed, "the files were written, but their names could not be written to stdout");
}

}  // namespace

void add_tls(CLI::App& app, int& exit_code) {
  CLI::App* tls = app.add_subcommand("tls", "Make certificates for trying out TLS");
  tls->require_subcommand(1);
  CLI::App* command = tls->add_subcommand("self-signed", "Write a self-signed certificate and its key");
  auto words = std::make_shared<SelfSignedArguments>();
  command
      ->add_option("--name", words->options.names,
                   "Host name or IP address that the certificate is for; for example example.org, *.example.org or "
                   "127.0.0.1; may be given several times")
      ->required()
      ->allow_extra_args(false);
  add_choice(*command, "--key", words->options.key, {{"ecdsa", TlsKeyKind::kEcdsaP256}, {"rsa", TlsKeyKind::kRsa2048}},
             "Kind of key; ecdsa: on the curve P-256; rsa: of 2048 bits");
  add_number(*command, "--days", words->days, 1L, kMostDays, "Days for which the certificate is valid, from now on");
  command->add_option("--out-cert", words->certificate_file,
                      "File to write the certificate to; default: NAME.pem, after the first --name");
  command->add_option(
      "--out-key", words->key_file,
      "File to write the key to, readable only by its owner; default: NAME.key, after the first --name");
  command->add_flag("--force", words->force, "Overwrite files that exist already");
  command->footer(
      "Example:\n"
      "  peal tls self-signed --name localhost --name 127.0.0.1 --name ::1\n"
      "  peal tls self-signed --name '*.example.org' --key rsa --days 365 --out-cert site.pem --out-key site.key");
  command->callback([words, &exit_code] { exit_code = write_self_signed(*words); });
  tls->footer("Example:\n  peal tls self-signed --name localhost");
}

}  // namespace peal::cli
