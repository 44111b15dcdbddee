import { once } from "node:events";
import { describe, expect, test } from "vitest";
import type { NextHandler } from "@/lib/platform/http/server/next-page";
import { newKey } from "@/tests/support/auth/api-keys";
import { ctx } from "@/tests/support/context";
import {
  echo,
  expectProblem,
  hello,
  httpRequest,
  openTestServer,
  parseResponse,
  recordsOf,
} from "@/tests/support/network/http-server";

/** Headers that differ between responses. */
const VOLATILE = { date: "", "x-request-id": "" };

test("a page, a file and an unknown path refuse an API key in the query, and revoke it", async () => {
  const server = await openTestServer({ "/page": "page", "/file.json": "file" }, Promise.resolve(echo));
  for (const path of ["/page", "/file.json", "/nowhere", "/page/"]) {
    const { id, key } = await newKey();
    expectProblem(parseResponse(await server.exchange(httpRequest(`${path}?x=${key}`))), "key_in_url");
    expect(await ctx().db.apiKey.findUniqueOrThrow({ where: { id } })).toMatchObject({ revokedAt: expect.any(Date) });
  }
  expect(parseResponse(await server.exchange(httpRequest("/page?x=hp_"))).status).toBe(200);
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
    expect((await Promise.all(waiting)).map((text) => parseResponse(text).status)).toEqual([200, 200]);
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
  // ASVS 4.1.4, 13.4.4
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

  test("are rendered with the IP of the socket, and without the headers that control Next", async () => {
    const server = await openTestServer({ "/page": "page" }, echo);
    const controlHeaders = [
      "RSC: 1",
      "Next-Router-State-Tree: %",
      "Next-Action: x",
      "X-Forwarded-Proto: https",
      "X-Forwarded-Host: evil",
      "X-Middleware-Subrequest: proxy",
      "X-Matched-Path: /x",
      "X-Invoke-Status: 500",
      "X-Nextjs-Data: 1",
      "X-Socket-Ip: 203.0.113.7",
    ];
    const sent = ["Cookie: a=b", "User-Agent: test", "X-Request-Id: seen"];
    const { headers } = JSON.parse(
      parseResponse(await server.exchange(httpRequest("/page", [...controlHeaders, ...sent]))).body,
    );
    const own = { host: "localhost:3000", "x-request-id": "seen", "x-socket-ip": "127.0.0.1" };
    expect(headers).toEqual({ ...own, cookie: "a=b", "user-agent": "test" });
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
    ["responds 500 in one line", async (_, outgoing) => void outgoing.writeHead(500).end("Internal Server Error")],
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
    const server = await openTestServer({ "/docs": "static page" }, next);
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

  test("that are the same for every visitor are rendered once however their parameters are written, and not kept if unknown", async () => {
    const rendered: unknown[] = [];
    const next: NextHandler = async ({ url }, outgoing) => {
      rendered.push(url);
      outgoing.statusCode = url === "/docs/known" || url === "/_not-found" ? 200 : 404;
      outgoing.setHeader("Content-Security-Policy", "script-src 'nonce-rendered'");
      outgoing.setHeader("Content-Type", "text/html").end(url);
    };
    const server = await openTestServer({ "/docs/[subject]": "static page" }, next);
    for (const path of ["known", "%6bnown", "known?x=1", "other", "other"]) {
      const { body } = parseResponse(await server.exchange(httpRequest(`/docs/${path}`)));
      expect(body).toBe(path === "other" ? "/_not-found" : "/docs/known");
    }
    expect(rendered).toEqual(["/docs/known", "/docs/other", "/_not-found", "/docs/other"]);
  });

  // ASVS 15.2.2
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
