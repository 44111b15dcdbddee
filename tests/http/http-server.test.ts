import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { responders } from "@/app/routes.generated";
import type { RequestRecord } from "@/lib/context";
import { ERRORS } from "@/lib/errors";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";
import { RouteResponse } from "@/lib/http/route-response";
import type { NextHandler } from "@/lib/http/server/next-page";
import { createRouteTable, findRoute } from "@/lib/http/server/routes";
import { withContext } from "@/tests/support/context";
import {
  httpRequest,
  openTestServer,
  parseResponse,
  type RawResponse,
  testRoute,
} from "@/tests/support/network/http-server";

const hello = testRoute("/api/hello", () => "hello");

async function* neverEnding() {
  yield Buffer.from("x");
  await new Promise(() => {});
}
/** A route that reads a body. */
const readsBody = defineRoute("/api/hello", {
  POST: endpoint({
    summary: "Waits for a body",
    database: false,
    body: z.object({}),
    responses: { 204: null },
    handle: () => new RouteResponse(204, null),
  }),
});

/** Replaces Next. Responds with the URL and the headers of the request that it receives. */
const echo: NextHandler = async ({ url, headers }, outgoing) => {
  outgoing.setHeader("Content-Type", "text/html");
  outgoing.end(JSON.stringify({ url, headers }));
};

/** Headers that differ between responses. */
const VOLATILE = { date: "", "x-request-id": "" };

/** A problem document as the HTTP server has to send it. */
function expectProblem({ status, headers, body }: RawResponse, code: string): void {
  expect(headers).toMatchObject({
    "content-type": "application/problem+json",
    "content-length": String(Buffer.byteLength(body)),
    "x-content-type-options": "nosniff",
    "cache-control": "private, no-store",
  });
  expect(JSON.parse(body)).toMatchObject({ code, status, requestId: headers["x-request-id"] });
}

/** The requests that are logged while `run` runs. */
async function recordsOf(run: () => Promise<void>): Promise<RequestRecord[]> {
  const records: RequestRecord[] = [];
  await withContext({ observe: (record) => void records.push(record) }, run);
  return records;
}

describe("a client that reads nothing", () => {
  const chunk = Buffer.alloc(64 * 1024);

  test("for too long is disconnected, and the response body is released", async () => {
    let isReleased = false;
    async function* endless() {
      try {
        for (;;) yield chunk;
      } finally {
        isReleased = true;
      }
    }
    const server = await openTestServer({ "/api/endless": testRoute("/api/endless", endless) }, undefined, {
      socketTimeoutMs: 200,
    });
    const reader = await server.open();
    reader.write(httpRequest("/api/endless"));
    await once(reader, "readable"); // it has part of the response, and reads no further
    await expect.poll(() => isReleased).toBe(true);
  });

  test.each(["/api/long", "/page"])("of %s, which is sent whole, is disconnected too", async (path) => {
    const long = Buffer.alloc(64 * 1024 * 1024, "x").toString();
    const page: NextHandler = async (_incoming, outgoing) => void outgoing.end(long);
    const routes = { "/api/long": testRoute("/api/long", () => long), "/page": "page" } as const;
    const server = await openTestServer(routes, page, { socketTimeoutMs: 200 });
    const reader = await server.open();
    reader.write(httpRequest(path));
    await once(reader, "readable");
    await expect.poll(server.connections).toBe(0);
  });
});

describe("a request target", () => {
  const routes = { "/": "page", "/page": "page", "/api/hello": hello, "/api/[[...path]]": hello } as const;

  test.each([
    ...["/./api/hello", "/%2e/api/hello", "/x/../api/hello", "/x/%2E%2e/api/hello", "/..", "/page/."],
    ...["/api\\hello", "/page#x", "/%ff", "/%", "/forms/%E0%A4%A", "/%%32%65%%32%65/api/hello"],
    ...["ftp://localhost/page", "http://", "http://user@localhost/page", "http:///page", "page"],
  ])("%s is rejected before routing", async (target) => {
    const server = await openTestServer(routes, echo);
    const response = parseResponse(await server.exchange(httpRequest(target)));
    expect(response.status).toBe(400);
    if (response.headers["x-request-id"]) expectProblem(response, "malformed_request");
  });

  test.each([
    ["http://evil.example/page?x=1", "/page?x=1"],
    ["HTTPS://evil.example:8443/page", "/page"],
    ["http://evil.example", "/"],
    ["http://evil.example?x", "/?x"],
    ["/%70ag%65", "/page"],
  ])("%s reaches Next as %s, for this host", async (target, url) => {
    const server = await openTestServer(routes, echo);
    const seen = JSON.parse(parseResponse(await server.exchange(httpRequest(target))).body);
    expect([seen.url, seen.headers.host]).toEqual([url, "localhost:3000"]);
  });

  test("with an empty segment is not found, and is no redirect to a host", async () => {
    const server = await openTestServer(routes, echo);
    for (const target of ["//evil.example/x", "//api/hello", "/api//hello", "/page//"]) {
      const response = parseResponse(await server.exchange(httpRequest(target)));
      expect([target, response.status]).toEqual([target, 404]);
      expectProblem(response, "not_found");
    }
  });

  test("with a trailing slash redirects to the page", async () => {
    const server = await openTestServer(routes, echo);
    const { status, headers } = parseResponse(await server.exchange(httpRequest("/page/?x=1")));
    expect([status, headers.location]).toEqual([308, "/page?x=1"]);
  });

  test("of * gets a response to OPTIONS", async () => {
    const server = await openTestServer(routes, echo);
    expect(parseResponse(await server.exchange(httpRequest("*", [], "OPTIONS"))).status).toBe(204);
    expectProblem(parseResponse(await server.exchange(httpRequest("*"))), "method_not_allowed");
  });
});

describe("a Host header", () => {
  const bare = (...lines: string[]) => ["GET /api/hello HTTP/1.1", "Connection: close", ...lines, "", ""].join("\r\n");

  test.each([
    ["missing", bare()],
    ["duplicated", bare("Host: localhost", "host: localhost")],
    ["not a host", bare("Host: a b")],
    ["a list", bare("Host: a, b")],
    ["a URL", bare("Host: http://localhost")],
  ])("that is %s is rejected", async (_, text) => {
    const server = await openTestServer({ "/api/hello": hello });
    expectProblem(parseResponse(await server.exchange(text)), "malformed_request");
  });

  test.each(["localhost", "localhost:3000", "[::1]:3000", "a_b.example", "xn--bcher-kva.example", ""])(
    "%j is accepted",
    async (host) => {
      const server = await openTestServer({ "/api/hello": hello });
      expect(parseResponse(await server.exchange(bare(`Host: ${host}`))).body).toContain("hello");
    },
  );
});

describe("malformed input", () => {
  const post = (...lines: string[]) =>
    ["POST /api/hello HTTP/1.1", "Host: localhost", "Content-Type: application/json", ...lines].join("\r\n");

  test.each([
    ["other than HTTP", "hello\r\n\r\n", "malformed_request"],
    ["HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "malformed_request"],
    [
      "a length and chunks",
      post("Content-Length: 5", "Transfer-Encoding: chunked", "", "0", "", ""),
      "malformed_request",
    ],
    ["two lengths", post("Content-Length: 5", "Content-Length: 6", "", "hello"), "malformed_request"],
    ["an unknown transfer coding", post("Transfer-Encoding: xchunked", "", "0", "", ""), "malformed_request"],
    ["a folded header", httpRequest("/api/hello", ["X-A: b\r\n c"]), "malformed_request"],
    ["bare line feeds", "GET /api/hello HTTP/1.1\nHost: x\n\n", "malformed_request"],
    ["a space before the colon", httpRequest("/api/hello", ["X-A : b"]), "malformed_request"],
    ["NUL in a header", httpRequest("/api/hello", ["X-A: a\0b"]), "malformed_request"],
    ["malformed chunks", post("Transfer-Encoding: chunked", "", "zz", ""), "malformed_request"],
    ["oversized headers", httpRequest("/api/hello", [`X-Long: ${"x".repeat(17_000)}`]), "headers_too_large"],
    ["a tunnel", "CONNECT evil.example:443 HTTP/1.1\r\nHost: x\r\n\r\n", "method_not_allowed"],
  ] as const)("such as %s gets a problem document, is logged, and closes the connection", async (_, text, code) => {
    const records = await recordsOf(async () => {
      const server = await openTestServer({ "/api/hello": readsBody });
      expectProblem(parseResponse(await server.exchange(text)), code);
    });
    await expect.poll(() => records).toMatchObject([{ status: ERRORS[code][0] }]);
  });

  test("adds no status line in the middle of another response", async () => {
    const server = await openTestServer({ "/api/never": testRoute("/api/never", neverEnding) });
    const socket = await server.open();
    const keptAlive = httpRequest("/api/never").replace("Connection: close\r\n", "");
    socket.write(keptAlive);
    await once(socket, "readable");
    socket.write("hello\r\n\r\n");
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk;
    });
    await once(socket, "close");
    expect(text.match(/HTTP\/1\.1/g)).toHaveLength(1);
  });
});

describe("a path that matches no route", () => {
  const refuse: NextHandler = async () => {
    throw new Error("Next was called");
  };
  const notFoundPage: NextHandler = async ({ url }, outgoing) => {
    outgoing.setHeader("Content-Security-Policy", "script-src 'nonce-rendered'").setHeader("Content-Type", "text/html");
    outgoing.writeHead(404).end(url);
  };

  test.each(["application/json", "image/*, application/problem+json"])(
    "is a problem document for a client that accepts %s",
    async (accept) => {
      const server = await openTestServer({ "/page": "page" }, refuse);
      for (const method of ["GET", "HEAD"]) {
        const response = parseResponse(await server.exchange(httpRequest("/nowhere", [`Accept: ${accept}`], method)));
        expect([response.status, response.headers["content-type"]]).toEqual([404, "application/problem+json"]);
        if (method === "GET") expectProblem(response, "not_found");
      }
    },
  );

  test.each([[], ["Accept: */*"], ["Accept: application/xhtml+xml,text/html;q=0.9"]])(
    "is the not-found page for a client that sends %j",
    async (...headers) => {
      const server = await openTestServer({ "/page": "page" }, notFoundPage);
      const response = parseResponse(await server.exchange(httpRequest("/nowhere", headers)));
      expect([response.status, response.body]).toEqual([404, "/_not-found"]);
    },
  );
});

describe("while Next is loading", () => {
  test("routes respond, and pages and files wait", async () => {
    let finishLoading = (_: NextHandler) => {};
    const loading = new Promise<NextHandler>((resolve) => {
      finishLoading = resolve;
    });
    const server = await openTestServer({ "/page": "page", "/file.json": "file", "/api/hello": hello }, loading);
    const waiting = ["/page", "/file.json"].map((path) => server.exchange(httpRequest(path)));
    expect(parseResponse(await server.exchange(httpRequest("/api/hello"))).body).toContain("hello");
    finishLoading(echo);
    const statuses = (await Promise.all(waiting)).map((text) => parseResponse(text).status);
    expect(statuses).toEqual([200, 200]);
  });

  test("pages and files wait for a limited time", async () => {
    const server = await openTestServer({ "/page": "page", "/file.json": "file" }, new Promise(() => {}), {
      maxRenderMs: 100,
    });
    for (const path of ["/page", "/file.json"]) {
      expectProblem(parseResponse(await server.exchange(httpRequest(path))), "overloaded");
    }
  });

  test("pages and files are problem documents if it fails, and routes respond", async () => {
    const loading = Promise.reject(new Error("not built"));
    loading.catch(() => {});
    const server = await openTestServer({ "/page": "page", "/file.json": "file", "/api/hello": hello }, loading);
    for (const path of ["/page", "/file.json"]) {
      expectProblem(parseResponse(await server.exchange(httpRequest(path))), "internal_error");
    }
    expect(parseResponse(await server.exchange(httpRequest("/api/hello"))).status).toBe(200);
  });
});

describe("pages", () => {
  test("accept GET and HEAD only, and no body", async () => {
    let rendered = 0;
    const count: NextHandler = async () => void rendered++;
    const server = await openTestServer({ "/page": "page", "/file.json": "file" }, count);
    for (const path of ["/page", "/file.json"]) {
      for (const method of ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"]) {
        const response = parseResponse(await server.exchange(httpRequest(path, ["Content-Length: 0"], method)));
        expect([method, response.status, response.headers.allow]).toEqual([method, 405, "GET, HEAD"]);
        expectProblem(response, "method_not_allowed");
      }
    }
    // The response does not wait for the body.
    const socket = await server.open();
    socket.write(httpRequest("/page", ["Content-Length: 10000000"], "POST"));
    const [chunk] = await once(socket, "data");
    expect(parseResponse(String(chunk)).status).toBe(405);
    expectProblem(parseResponse(await server.exchange(httpRequest("/nowhere", [], "POST"))), "not_found");
    expect(rendered).toBe(0);
  });

  test("give HEAD the headers that GET gets", async () => {
    const server = await openTestServer({ "/page": "page" }, echo);
    const get = parseResponse(await server.exchange(httpRequest("/page")));
    const head = parseResponse(await server.exchange(httpRequest("/page", [], "HEAD")));
    expect(get.headers["content-length"]).toBe(String(get.body.length));
    expect({ ...head.headers, ...VOLATILE }).toEqual({ ...get.headers, ...VOLATILE });
    expect(head.body).toBe("");
  });

  test("are rendered without the headers that control Next", async () => {
    const server = await openTestServer({ "/page": "page" }, echo);
    const controlHeaders = [
      ...[
        "RSC: 1",
        "Next-Router-State-Tree: %",
        "Next-Action: x",
        "X-Forwarded-Proto: https",
        "X-Forwarded-Host: evil",
      ],
      ...["X-Middleware-Subrequest: proxy", "X-Matched-Path: /x", "X-Invoke-Status: 500", "X-Nextjs-Data: 1"],
    ];
    const sent = ["Cookie: a=b", "User-Agent: test", "X-Request-Id: seen"];
    const { headers } = JSON.parse(
      parseResponse(await server.exchange(httpRequest("/page", [...controlHeaders, ...sent]))).body,
    );
    expect(headers).toEqual({ host: "localhost:3000", cookie: "a=b", "user-agent": "test", "x-request-id": "seen" });
  });

  test("are logged by their route, not by the requested path", async () => {
    const records = await recordsOf(async () => {
      const server = await openTestServer({ "/page": "page", "/file.json": "file" }, echo);
      for (const target of ["/page?secret", "/file.json?secret", "/%ff"]) await server.exchange(httpRequest(target));
    });
    expect(records).toMatchObject([
      { method: "GET", route: "/page", status: 200 },
      { method: "GET", route: "/file.json", status: 200 },
      { method: "GET", route: "(unmatched)", status: 400 },
    ]);
  });

  test.each<[string, NextHandler]>([
    ["fails", () => Promise.reject(new Error("no page"))],
    [
      "throws",
      () => {
        throw new Error("no page");
      },
    ],
    ["responses 500 in a word", async (_, outgoing) => void outgoing.writeHead(500).end("Internal Server Error")],
    ["responds nothing", async () => {}],
  ])("are a problem document where Next %s", async (_, next) => {
    const server = await openTestServer({ "/page": "page" }, next);
    const response = parseResponse(await server.exchange(httpRequest("/page")));
    expect(response.status).toBe(500);
    expectProblem(response, "internal_error");
  });

  test("that are the same for every visitor are rendered once, each response with its own nonce", async () => {
    const cookies: unknown[] = [];
    const next: NextHandler = async ({ headers }, outgoing) => {
      cookies.push(headers.cookie);
      outgoing
        .setHeader("Content-Type", "text/html")
        .setHeader("Content-Security-Policy", "script-src 'nonce-rendered'");
      outgoing.end('<script nonce="rendered"></script><script nonce="rendered"></script>');
    };
    const server = await openTestServer({ "/docs": "page" }, next);
    const responses = await Promise.all(
      Array.from({ length: 8 }, async () =>
        parseResponse(await server.exchange(httpRequest("/docs", ["Cookie: a=b"]))),
      ),
    );
    const nonces = responses.map(({ headers }) => /'nonce-(.+)'/.exec(headers["content-security-policy"] ?? "")?.[1]);
    expect(new Set(nonces).size).toBe(8);
    responses.forEach(({ body }, i) => {
      expect(body).toBe(`<script nonce="${nonces[i]}"></script>`.repeat(2));
    });
    expect(cookies).toEqual([undefined]);
  });

  test("beyond the queue's limit are rejected, and those in the queue are rendered", async () => {
    let release = () => {};
    const gate = new Promise<void>((open) => {
      release = open;
    });
    let rejected = 0;
    let maxRendering = 0;
    let rendering = 0;
    const next: NextHandler = async (incoming, outgoing) => {
      maxRendering = Math.max(maxRendering, ++rendering);
      await gate;
      rendering--;
      await echo(incoming, outgoing);
    };
    const server = await openTestServer({ "/page": "page", "/api/hello": hello }, next);
    const requests = Array.from({ length: 100 }, async () => {
      const response = parseResponse(await server.exchange(httpRequest("/page")));
      if (response.status !== 200) expectProblem(response, "overloaded");
      if (response.status !== 200 && ++rejected === 36) release();
      return [response.status, response.headers["retry-after"]] as const;
    });
    const responses = await Promise.all(requests);
    expect(responses.filter(([status]) => status === 200)).toHaveLength(64);
    expect(responses.filter(([status, wait]) => status === 503 && wait === "2")).toHaveLength(36);
    expect(maxRendering).toBe(4);
    expect(parseResponse(await server.exchange(httpRequest("/api/hello"))).status).toBe(200);
  });

  test("that never end are aborted, and make room for others", async () => {
    const next: NextHandler = (incoming, outgoing) =>
      incoming.url === "/page?endless" ? new Promise(() => {}) : echo(incoming, outgoing);
    const server = await openTestServer({ "/page": "page" }, next, { maxRenderMs: 200 });
    const targets = [...Array<string>(4).fill("/page?endless"), "/page"];
    const responses = await Promise.all(
      targets.map(async (target) => parseResponse(await server.exchange(httpRequest(target)))),
    );
    expect(responses.map(({ status }) => status)).toEqual([500, 500, 500, 500, 200]);
  });

  test("whose clients have disconnected are not rendered", async () => {
    const rendered: unknown[] = [];
    const held: (() => void)[] = [];
    const next: NextHandler = async ({ url }, outgoing) => {
      rendered.push(url);
      await new Promise<void>((go) => held.push(go));
      outgoing.end();
    };
    const server = await openTestServer({ "/page": "page" }, next);
    const [gone, ...kept] = await Promise.all(Array.from({ length: 5 }, server.open));
    for (const socket of kept) socket.write(httpRequest("/page"));
    await expect.poll(() => held.length).toBe(4);
    gone?.write(httpRequest("/page?gone"));
    await server.exchange(httpRequest("/api/nothing", [], "POST")); // by now the server has queued the request
    gone?.destroy();
    await expect.poll(server.connections).toBe(4);
    for (const go of held) go();
    await expect.poll(server.connections).toBe(0);
    expect(rendered).toEqual(Array(4).fill("/page"));
  });
});

describe("requests in one packet", () => {
  const keptAlive = (target: string) => httpRequest(target).replace("Connection: close\r\n", "");

  test("get their responses in order, one at a time", async () => {
    const seen: string[] = [];
    const next: NextHandler = async ({ url = "" }, outgoing) => {
      seen.push(`begin ${url}`);
      await new Promise(setImmediate);
      seen.push(`end ${url}`);
      outgoing.end(url);
    };
    const server = await openTestServer({ "/page": "page" }, next);
    const text = await server.exchange(`${keptAlive("/page?1")}${keptAlive("/page?2")}${httpRequest("/page?3")}`);
    expect(text.match(/\/page\?\d/g)).toEqual(["/page?1", "/page?2", "/page?3"]);
    expect(seen).toEqual(["1", "2", "3"].flatMap((n) => [`begin /page?${n}`, `end /page?${n}`]));
  });

  test("by the hundreds are disconnected after at most one has begun", async () => {
    let begun = 0;
    const next: NextHandler = () => {
      begun += 1;
      return new Promise(() => {});
    };
    const server = await openTestServer({ "/page": "page" }, next);
    expect(await server.exchange(keptAlive("/page").repeat(400))).toBe("");
    expect(begun).toBeLessThan(2);
  });
});

describe("a client that sends Expect: 100-continue", () => {
  const uploadRequest = (path: string, length: number) =>
    httpRequest(path, ["Content-Type: application/json", `Content-Length: ${length}`, "Expect: 100-continue"], "POST");
  const upload = defineRoute("/api/upload", {
    POST: endpoint({
      summary: "A body",
      database: false,
      body: z.object({}),
      responses: { 204: null },
      handle: () => new RouteResponse(204, null),
    }),
  });

  test("gets 100 if the body is read, and not if it is rejected", async () => {
    const server = await openTestServer({ "/api/upload": upload, "/page": "page" });
    expect(await server.exchange(uploadRequest("/api/upload", 2), "{}")).toMatch(
      /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 204/,
    );
    for (const [path, code] of [
      ["/page", 405],
      ["/api/upload", 413],
    ] as const) {
      const socket = await server.open();
      socket.write(uploadRequest(path, 1_000_000));
      const [chunk] = await once(socket, "data");
      expect(parseResponse(String(chunk)).status).toBe(code);
    }
  });
});

describe("the route table", () => {
  test("has every route, page and icon of app", async () => {
    const files = await readdir("app", { recursive: true });
    const paths = files.flatMap((file) => {
      const [, folder = "", name = ""] = /^(?:(.*)\/)?((?:route|page)\.tsx?|icon\.svg)$/.exec(file) ?? [];
      const route = `/${folder.replaceAll(/\([^/]+\)(\/|$)/g, "")}`.replace(/(?<=.)\/$/, "");
      return name === "" ? [] : [[name === "icon.svg" ? `/${name}` : route, name] as const];
    });
    const kinds = { "page.tsx": "page", "icon.svg": "file", "route.ts": "object" };
    const expected = paths.map(([path, name]) => [path, kinds[name as keyof typeof kinds]]);
    const actual = [...responders].map(([path, one]) => [path, typeof one === "object" ? "object" : one]);
    expect(actual.sort()).toEqual(expected.sort());
  });

  test("matches files by their decoded path", () => {
    const table = createRouteTable(new Map(), new Map([["/a [b].js", "/a [b].js"]]));
    expect(findRoute(table, "/a%20[b].js")?.responder).toBe("file");
    expect(findRoute(table, "/a%20%5Bb%5D.js")?.responder).toBe("file");
    expect(findRoute(table, "/a%20%5Bb%5D.js/x")).toBeNull();
  });

  test("treats special characters in paths literally", () => {
    const table = createRouteTable(
      new Map([
        ["/a.b/[x-y]", hello],
        ["/a+/[...rest]", hello],
      ]),
    );
    expect(findRoute(table, "/a.b/1")?.params).toEqual({ "x-y": "1" });
    expect(findRoute(table, "/aXb/1")).toBeNull();
    expect(findRoute(table, "/a+/1/2")?.params).toEqual({ rest: ["1", "2"] });
    expect(findRoute(table, "/aa/1")).toBeNull();
  });
});
