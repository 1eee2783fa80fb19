// SPDX-License-Identifier: BSD-3-Clause
// No way out of the root, and nothing in it that is not meant to be served.
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <peal/base/fd.h>
#include <peal/http/files/parts/root_folder.h>
#include <tests/support/files/temporary_folder.h>
#include <tests/support/http/http_files_rig.h>

namespace peal {
namespace {

namespace fs = std::filesystem;
using detail::RootFolder;
using test::HttpAnswer;

constexpr std::string_view kSecret = "nobody may read this";

class StaticFilesEscape : public test::HttpFilesTest {
 protected:
  void SetUp() override {
    HttpFilesTest::SetUp();
    if (IsSkipped()) return;
    std::ofstream(folder() / "secret") << kSecret;
    fs::create_directory(folder() / "rooted");  // begins with the root's name
    std::ofstream(folder() / "rooted" / "secret") << kSecret;
    write("inside", "inside");
    write("sub/inside", "inside");
  }
};
PEAL_TEST_ON_EVERY_PORT_AND_SIM(StaticFilesEscape);

TEST_P(StaticFilesEscape, by_no_spelling_of_the_path) {
  serve_files({.hidden = true});
  for (const std::string_view target : {"/../secret",
                                        "/sub/../../secret",
                                        "/%2e%2e/secret",
                                        "/%2E%2E/secret",
                                        "/.%2e/secret",
                                        "/..%2fsecret",
                                        "/..%2Fsecret",
                                        "/sub/..%2f..%2fsecret",
                                        "/%2e%2e%2fsecret",
                                        "/..%5csecret",
                                        "/..\\secret",
                                        "/....//secret",
                                        "/%252e%252e/secret",
                                        "/..%c0%afsecret",
                                        "/..%00/secret",
                                        "/inside%00.html",
                                        "/inside%0a",
                                        "/../rooted/secret",
                                        "/..rooted/secret",
                                        "//secret",
                                        "//../secret",
                                        "/./../secret",
                                        "/sub/./../../secret",
                                        "/..;/secret",
                                        "/../../../../../../../../etc/hostname",
                                        "/%2fetc/hostname",
                                        "//etc/hostname",
                                        "/proc/self/environ",
                                        "/sub/%2e%2e/%2e%2e/secret",
                                        "http://h/../secret",
                                        "/inside/../../secret",
                                        "/inside/..",
                                        "/\xc0\xae./secret"}) {
    const HttpAnswer answer = get(target);
    EXPECT_TRUE(answer.status == 400 || answer.status == 404) << target << ": " << answer.status;
    EXPECT_FALSE(answer.body.contains(kSecret)) << target;
  }
  EXPECT_EQ(get("/sub/../inside").body, "inside") << "up and down inside";
  EXPECT_EQ(get("/%69nside").body, "inside");
}

TEST_P(StaticFilesEscape, by_no_symbolic_link) {
  fs::create_symlink("../secret", root() / "up");
  fs::create_symlink(folder() / "secret", root() / "absolute");
  fs::create_symlink("..", root() / "folder");
  fs::create_symlink("/", root() / "everything");
  fs::create_symlink("up", root() / "twice");
  fs::create_symlink("/proc/self", root() / "magic");
  fs::create_symlink("loop", root() / "loop");
  fs::create_symlink(root() / "inside", root() / "back");  // inside, but by way of the outside
  fs::create_symlink("../../secret", root() / "sub" / "up");
  fs::create_symlink("inside", root() / "link");
  fs::create_symlink("../sub/../inside", root() / "sub" / "link");
  fs::create_symlink("sub", root() / "folder_link");
  serve_files();
  for (const char* target : {"/up", "/absolute", "/folder/secret", "/folder/", "/everything/etc/hostname", "/twice",
                             "/magic/environ", "/magic/cwd", "/magic/root/etc/hostname", "/loop", "/back", "/sub/up"}) {
    const HttpAnswer answer = get(target);
    EXPECT_EQ(answer.status, 404) << target;
    EXPECT_FALSE(answer.body.contains(kSecret)) << target;
  }
  for (const char* target : {"/link", "/sub/link", "/folder_link/inside"}) {
    EXPECT_EQ(get(target).body, "inside") << target << ", which stays inside";
  }
}

TEST_P(StaticFilesEscape, a_folder_swapped_for_a_link_is_not_followed) {
  serve_files({.cached_files = 0});
  EXPECT_EQ(get("/sub/inside").body, "inside");
  std::ofstream(folder() / "inside") << kSecret;
  fs::rename(root() / "sub", root() / "was");
  fs::create_symlink("..", root() / "sub");
  EXPECT_EQ(get("/sub/inside").status, 404);
}

TEST_P(StaticFilesEscape, hidden_names_are_not_there) {
  for (const char* name : {".env", ".git/config", "sub/.htpasswd", ".well-known/acme", "sub/.well-known/x"}) {
    write(name, kSecret);
  }
  serve_files();
  for (const char* target : {"/.env", "/.git/config", "/sub/.htpasswd", "/%2eenv", "/sub/.well-known/x"}) {
    EXPECT_EQ(get(target).status, 404) << target;
  }
  EXPECT_EQ(get("/.well-known/acme").status, 200) << "RFC 8615";
}

TEST_P(StaticFilesEscape, hidden_names_on_request) {
  write(".env", "shown");
  serve_files({.hidden = true});
  EXPECT_EQ(get("/.env").body, "shown");
}

TEST_P(StaticFilesEscape, only_regular_files) {
  ASSERT_EQ(::mkfifo((root() / "fifo").c_str(), 0600), 0);
  const Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un name{.sun_family = AF_UNIX, .sun_path = {}};
  const std::string path = root() / "socket";
  ASSERT_LT(path.size(), sizeof(name.sun_path));
  path.copy(name.sun_path, sizeof(name.sun_path));
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&name), sizeof(name)), 0);
  serve_files();
  EXPECT_EQ(get("/fifo").status, 404) << "nobody waits for its writer";
  EXPECT_EQ(get("/socket").status, 404);
  EXPECT_EQ(get("/" + std::string(255, 'x')).status, 404);
  EXPECT_EQ(get("/" + std::string(5000, 'x')).status, 404) << "longer than a path may be";
}

// Where the kernel cannot, no link is followed at all.
TEST(RootFolder, walked_by_hand) {
  const test::TemporaryFolder temporary;
  const fs::path folder = temporary.path("");
  fs::create_directories(folder / "root" / "sub" / "deep");
  std::ofstream(folder / "secret") << kSecret;
  std::ofstream(folder / "root" / "sub" / "deep" / "file") << "file";
  fs::create_symlink("../secret", folder / "root" / "up");
  fs::create_symlink("sub", folder / "root" / "link");
  fs::create_symlink("file", folder / "root" / "sub" / "deep" / "link");
  for (const auto way : {RootFolder::Way::kBest, RootFolder::Way::kWalk}) {
    const Result<RootFolder> root = RootFolder::open(folder / "root", way);
    ASSERT_TRUE(root.has_value());
    EXPECT_TRUE(root->open_beneath("sub/deep/file").has_value());
    EXPECT_TRUE(root->open_beneath("sub").has_value()) << "a folder too";
    EXPECT_EQ(root->open_beneath("sub/deep/link").has_value(), way == RootFolder::Way::kBest);
    EXPECT_EQ(root->open_beneath("link/deep/file").has_value(), way == RootFolder::Way::kBest);
    using namespace std::string_literals;
    for (const std::string& path :
         {""s, "/"s, "/etc/hostname"s, ".."s, "../secret"s, "sub/../../secret"s, "up"s, "sub/deep/file/"s,
          "sub/deep/file/x"s, "none"s, "none/file"s, "sub/deep/file\0.css"s}) {
      EXPECT_FALSE(root->open_beneath(path).has_value()) << path;
    }
  }
}

}  // namespace
}  // namespace peal
