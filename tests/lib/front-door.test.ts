import { once } from "node:events";
import { type AddressInfo, connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { createFrontDoor, routeTable } from "@/lib/http/front-door";
import { ready } from "@/lib/http/reply";
import { defineRoute, endpoint } from "@/lib/http/route";

test("a reader that takes nothing for too long is cut off, and what it was sent is let go of", async () => {
  let isLetGo = false;
  async function* endless() {
    try {
      for (;;) yield Buffer.alloc(64 * 1024);
    } finally {
      isLetGo = true;
    }
  }
  const route = defineRoute("/api/endless", {
    GET: endpoint({
      summary: "Bytes without end",
      database: false,
      responses: { 200: null },
      handle: () => ready({ status: 200, headers: {}, body: endless() }),
    }),
  });
  const keeper = { isDraining: () => false, onFault: () => {}, stalledMs: 200 };
  const server = createFrontDoor(routeTable(new Map([["/api/endless", route]])), async () => {}, keeper);
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  const reader = connect((server.address() as AddressInfo).port, "127.0.0.1").on("error", () => {});
  onTestFinished(() => void reader.destroy());
  reader.write("GET /api/endless HTTP/1.1\r\nHost: localhost\r\n\r\n");
  await once(reader, "readable"); // it has an answer, and reads no further
  await expect.poll(() => isLetGo, { timeout: 20_000 }).toBe(true);
});
