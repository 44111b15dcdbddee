import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { responders } from "@/app/routes.generated";
import { ERRORS } from "@/lib/errors";
import { declare } from "@/lib/operation";
import { defineRoute } from "@/lib/platform/http/route";
import type { NextHandler } from "@/lib/platform/http/server/next-page";
import { createRouteTable, findRoute } from "@/lib/platform/http/server/routes";
import { RouteResponse } from "@/lib/platform/http-message";
import {
  echo,
  expectProblem,
  hello,
  httpRequest,
  openTestServer,
  parseResponse,
  recordsOf,
  testRoute,
} from "@/tests/support/network/http-server";

async function* neverEnding() {
  yield Buffer.from("x");
  await new Promise(() => {});
}

const readsBody = defineRoute("/api/hello", {
  POST: declare({
    summary: "Waits for a body",
    database: false,
    body: z.object({}),
    response: { schema: null },
    run: () => new RouteResponse(204, null),
  }),
});

describe("a request target", () => {
  const routes = { "/": "page", "/page": "page", "/api/hello": hello, "/api/[[...path]]": hello } as const;

  test.each([
    "/./api/hello",
    "/%2e/api/hello",
    "/x/../api/hello",
    "/x/%2E%2e/api/hello",
    "/api\\hello",
    "/page#x",
    "/%ff",
    "/%",
    "/%%32%65%%32%65/api/hello",
    "ftp://localhost/page",
    "http://",
    "http://user@localhost/page",
    "http:///page",
    "page",
    // ASVS 1.1.1
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
    // ASVS 1.1.1, 1.5.3
  ])("%s reaches Next as %s, for this host", async (target, url) => {
    const server = await openTestServer(routes, echo);
    const seen = JSON.parse(parseResponse(await server.exchange(httpRequest(target))).body);
    expect([seen.url, seen.headers.host]).toEqual([url, "localhost:3000"]);
  });

  test("with more than 50 parameters is refused, wherever it leads", async () => {
    const server = await openTestServer(routes, echo);
    for (const path of ["/page", "/api/hello", "/nowhere"]) {
      expect(parseResponse(await server.exchange(httpRequest(`${path}?${"a&".repeat(49)}`))).status).not.toBe(400);
      const refused = await server.exchange(httpRequest(`${path}?${"a&".repeat(50)}`));
      expectProblem(parseResponse(refused), "too_many_parameters");
    }
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
    // ASVS 4.2.1
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
    // ASVS 3.4.4, 4.1.1, 4.2.1
  ] as const)("such as %s gets a problem document, is logged, and closes the connection", async (_, text, code) => {
    const records = await recordsOf(async () => {
      const server = await openTestServer({ "/api/hello": readsBody });
      const response = parseResponse(await server.exchange(text));
      expectProblem(response, code);
      expect(response.headers["x-content-type-options"]).toBe("nosniff");
      expect(response.headers["content-security-policy"]).toContain("frame-ancestors 'none'");
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

describe("the route table", () => {
  // ASVS 13.4.1, 13.4.3, 13.4.7
  test("serves no source, configuration, data or version control", () => {
    const table = createRouteTable(responders, new Map([["/openapi.json", "/openapi.json"]]));
    expect(findRoute(table, "/openapi.json")?.responder).toBe("file");
    for (const path of [
      "/.git/config",
      "/.env",
      "/package.json",
      "/package-lock.json",
      "/server.ts",
      "/lib/platform/config.ts",
      "/data/db.lock",
      "/prisma/schema.prisma",
      "/.next/build.json",
      "/public/",
      "/_next/static/",
    ]) {
      expect([path, findRoute(table, path)]).toEqual([path, null]);
    }
  });

  // ASVS 15.2.3
  test("has every route, page and icon of app", async () => {
    const files = await readdir("app", { recursive: true });
    const paths = files.flatMap((file) => {
      const [, folder = "", name = ""] = /^(?:(.*)\/)?((?:route|page)\.tsx?|icon\.svg)$/.exec(file) ?? [];
      const route = `/${folder.replaceAll(/\([^/]+\)(\/|$)/g, "")}`.replace(/(?<=.)\/$/, "");
      return name === "" ? [] : [[name === "icon.svg" ? `/${name}` : route, name] as const];
    });
    const kinds = { "page.tsx": "page", "icon.svg": "file", "route.ts": "object" };
    const expected = paths.map(([path, name]) => [path, kinds[name as keyof typeof kinds]]);
    const actual = [...responders].map(([path, one]) => [
      path,
      typeof one === "object" ? "object" : one.replace("static ", ""),
    ]);
    expect(actual.sort()).toEqual(expected.sort());
  });

  // ASVS 13.4.1, 13.4.3, 13.4.7
  test("matches files by their decoded path", () => {
    const table = createRouteTable(new Map(), new Map([["/a [b].js", "/a [b].js"]]));
    expect(findRoute(table, "/a%20[b].js")?.responder).toBe("file");
    expect(findRoute(table, "/a%20%5Bb%5D.js")?.responder).toBe("file");
    expect(findRoute(table, "/a%20%5Bb%5D.js/x")).toBeNull();
  });

  // ASVS 1.2.9
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
