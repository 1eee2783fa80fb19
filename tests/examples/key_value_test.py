# SPDX-License-Identifier: BSD-3-Clause
"""The store of texts under keys: requests with and without its token, from a page of another origin, and too many."""
import http.client

from programs import PATIENCE_SECONDS, Program, answered


def test_key_value():
    with Program("key_value", "a token", "127.0.0.1:0", 2) as program:
        client = http.client.HTTPConnection(*program.address(), timeout=PATIENCE_SECONDS)

        def ask(method, path, body=None, token="a token", **fields):
            if token is not None:
                fields["Authorization"] = f"Bearer {token}"
            return answered(client, method, path, body, fields)

        def status(*words, **fields):
            return ask(*words, **fields)[0].status

        assert status("GET", "/v1/keys/a") == 404
        assert status("PUT", "/v1/keys/a", b"a text") == 204
        answer, body = ask("GET", "/v1/keys/a")
        assert (answer.status, body) == (200, b"a text")
        assert answer.getheader("X-Request-Id") and answer.getheader("Access-Control-Allow-Origin") is None
        assert status("PUT", "/v1/keys/b?ttl=600", b"b text") == 204
        assert status("PUT", "/v1/keys/c", b"c text") == 507, "the store has room for two keys"
        assert status("PUT", "/v1/keys/b", b"b again") == 204
        assert status("PUT", "/v1/keys/b?ttl=soon", b"b text") == 400
        assert status("PUT", "/v1/keys/b", b"x" * 65537) == 413
        client.close()
        assert status("DELETE", "/v1/keys/a") == 204
        assert status("DELETE", "/v1/keys/a") == 404
        for token in ("another", None):
            answer, _ = ask("GET", "/v1/keys/b", token=token)
            assert answer.status == 401 and answer.getheader("WWW-Authenticate").startswith('Bearer realm="keys"')
        answer, _ = ask("OPTIONS", "/v1/keys/b", token=None, Origin="https://a.example",
                        **{"Access-Control-Request-Method": "PUT"})
        assert (answer.status, answer.getheader("Access-Control-Allow-Origin")) == (204, "*")
        answer, _ = ask("POST", "/v1/keys/b")
        assert (answer.status, answer.getheader("Allow")) == (405, "DELETE, GET, HEAD, OPTIONS, PUT")
        assert status("GET", "/elsewhere") == 404
        for _ in range(1000):
            answer, _ = ask("GET", "/v1/keys/b")
            if answer.status == 429:
                break
        assert answer.status == 429 and answer.getheader("Retry-After") == "1"
        assert status("GET", "/elsewhere") == 404  # no rate limit applies to this path
        client.close()
        code, _, errors = program.end()
        assert code == 0 and "by owner: 200" in errors and "by nobody: 401" in errors
