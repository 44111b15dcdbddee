import { readdir } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { responders } from "@/app/routes.generated";
import type { NextHandler } from "@/lib/platform/http/server/next-page";
import { createRouteTable, findRoute } from "@/lib/platform/http/server/routes";
import { expectProblem, hello, httpRequest, openTestServer, parseResponse } from "@/tests/support/network/http-server";

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
