import { once } from "node:events";
import { expect, test } from "vitest";
import { z } from "zod";
import { declare } from "@/lib/operation";
import { defineRoute } from "@/lib/platform/http/route";
import { openTestServer } from "@/tests/support/network/http-server";

const Size = z.object({ bytes: z.number() });

/** Resolves when the stream's handler has its first bytes. */
const begun = (() => {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve: () => resolve() };
})();

/** Routes that read a body whole, and as a stream. */
const routes = {
  "/api/whole": defineRoute("/api/whole", {
    POST: declare({
      summary: "Reads a body whole",
      bodyFormat: "raw",
      response: { schema: Size },
      run: ({ bytes }) => ({ bytes: bytes.byteLength }),
    }),
  }),
  "/api/stream": defineRoute("/api/stream", {
    POST: declare({
      summary: "Reads a body as a stream",
      bodyFormat: "stream",
      response: { schema: Size },
      run: async ({ stream }) => {
        let bytes = 0;
        for await (const chunk of stream) {
          bytes += chunk.byteLength;
          begun.resolve();
        }
        return { bytes };
      },
    }),
  }),
};

const requestTo = (target: string) =>
  [
    `POST ${target} HTTP/1.1`,
    "Host: localhost",
    "Connection: close",
    "Content-Type: application/offset+octet-stream",
    "Content-Length: 10",
    "",
    "12345",
  ].join("\r\n");

test("a body that a handler reads as a stream may take longer than other requests", async () => {
  const { server, open } = await openTestServer(routes);
  const [slow, ordinary] = [await open(), await open()];
  let text = "";
  slow.on("data", (chunk: Buffer) => {
    text += chunk.toString();
  });
  slow.write(requestTo("/api/stream"));
  await begun.promise;
  server.requestTimeout = 1;
  ordinary.write(requestTo("/api/whole"));
  const [refusal] = (await once(ordinary, "data")) as [Buffer];
  expect(refusal.toString()).toContain("HTTP/1.1 408 ");
  slow.write("67890");
  await once(slow, "close");
  expect(text).toMatch(/^HTTP\/1\.1 200 [\s\S]*\{"bytes":10\}$/);
});
