// SPDX-License-Identifier: BSD-3-Clause
// An echo server on POCO's reactor: one handler per connection, whose methods a SocketReactor calls. The threads are
// POCO's: a ParallelSocketAcceptor gives the connections in turn to one reactor per thread. Accepting has its own
// thread, which is idle when all clients are connected. Tuned in these ways:
// - It writes first. It queues output and waits for writability only while a write is incomplete; meanwhile it does not
//   read.
// - Each thread has one warm read buffer.
#include <algorithm>
#include <array>
#include <string>

#include <Poco/Net/ParallelSocketAcceptor.h>
#include <Poco/Net/ServerSocket.h>
#include <Poco/Net/SocketDefs.h>
#include <Poco/Net/SocketNotification.h>
#include <Poco/Net/SocketReactor.h>
#include <Poco/Net/StreamSocket.h>
#include <Poco/Observer.h>
#include <Poco/Thread.h>

#include "contender.h"

namespace {

using Poco::Observer;
using Poco::Net::ReadableNotification;
using Poco::Net::ServerSocket;
using Poco::Net::SocketReactor;
using Poco::Net::StreamSocket;
using Poco::Net::WritableNotification;

constexpr int kReadBytes = 64 * 1024;

// The connection of one client. The object deletes itself when the connection is closed, as is usual for POCO's service
// handlers.
class PocoEcho {
 public:
  PocoEcho(StreamSocket& socket, SocketReactor& reactor) : socket_(socket), reactor_(reactor) {
    socket_.setBlocking(false);
    reactor_.addEventHandler(socket_, readable());
    reactor_.wakeUp();  // a reactor without sockets sleeps and must be woken
  }

  PocoEcho(const PocoEcho&) = delete;
  PocoEcho& operator=(const PocoEcho&) = delete;

  void on_readable(ReadableNotification* notification) {
    notification->release();
    thread_local std::array<char, kReadBytes> buffer;
    int got = 0;
    int written = 0;
    try {
      got = socket_.receiveBytes(buffer.data(), kReadBytes);
      if (got > 0) written = send(buffer.data(), got);
    } catch (const Poco::Exception&) {
      got = 0;
    }
    if (got == 0) {
      close();
    } else if (written < got) {
      unsent_.assign(buffer.data() + written, static_cast<size_t>(got - written));
      reactor_.removeEventHandler(socket_, readable());
      reactor_.addEventHandler(socket_, writable());
    }
  }

  void on_writable(WritableNotification* notification) {
    notification->release();
    try {
      const int written = send(unsent_.data(), static_cast<int>(unsent_.size()));
      unsent_.erase(0, static_cast<size_t>(written));
    } catch (const Poco::Exception&) {
      close();
      return;
    }
    if (!unsent_.empty()) return;
    std::string().swap(unsent_);
    reactor_.removeEventHandler(socket_, writable());
    reactor_.addEventHandler(socket_, readable());
  }

 private:
  ~PocoEcho() = default;

  Observer<PocoEcho, ReadableNotification> readable() { return {*this, &PocoEcho::on_readable}; }
  Observer<PocoEcho, WritableNotification> writable() { return {*this, &PocoEcho::on_writable}; }

  // Sends bytes and returns how many the kernel took. If the socket is full, returns 0. In this case POCO 1.11 throws
  // an exception, and newer versions of POCO return a negative number.
  int send(const char* bytes, int count) {
    try {
      return std::max(0, socket_.sendBytes(bytes, count));
    } catch (const Poco::Exception& error) {
      if (error.code() == POCO_EAGAIN || error.code() == POCO_EWOULDBLOCK) return 0;
      throw;
    }
  }

  void close() {
    if (unsent_.empty()) {
      reactor_.removeEventHandler(socket_, readable());
    } else {
      reactor_.removeEventHandler(socket_, writable());
    }
    delete this;
  }

  StreamSocket socket_;
  SocketReactor& reactor_;
  std::string unsent_;
};

// POCO's acceptor with one change: it pauses when no fd is free.
class PocoAcceptor : public Poco::Net::ParallelSocketAcceptor<PocoEcho, SocketReactor> {
 public:
  PocoAcceptor(ServerSocket& listener, SocketReactor& reactor, unsigned threads)
      : ParallelSocketAcceptor(listener, threads), listener_(listener) {
    reactor.addEventHandler(listener,
                            Poco::Observer<PocoAcceptor, ReadableNotification>(*this, &PocoAcceptor::on_acceptable));
  }

  void on_acceptable(ReadableNotification* notification) {
    notification->release();
    try {
      StreamSocket socket = listener_.acceptConnection();
      createServiceHandler(socket);
    } catch (const Poco::Exception&) {
      // accept() has failed, for example because no fd is free. Without a pause, the loop would only repeat the failing
      // accept(). This thread only accepts connections, so it may sleep.
      Poco::Thread::sleep(kContenderRetryMs);
    }
  }

 private:
  ServerSocket listener_;
};

}  // namespace

int serve(const contender_options* options) {
  const Poco::Net::SocketAddress address(reinterpret_cast<const sockaddr*>(&options->address), sizeof options->address);
  ServerSocket listener;
  listener.bind(address, true);
  listener.listen(kContenderBacklog);
  listener.impl()->setNoDelay(true);
  SocketReactor reactor;
  PocoAcceptor acceptor(listener, reactor, static_cast<unsigned>(options->threads));
  announce(listener.impl()->sockfd());
  reactor.run();
  fail("SocketReactor::run");
}
