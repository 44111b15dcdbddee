import { expect, test } from "vitest";
import { pageHeaders } from "@/lib/http/pages/page-headers";

test("a page sends HSTS for a year over https, and none over http", () => {
  const asked = (baseUrl: string) => pageHeaders({ baseUrl }, "nonce", false)["Strict-Transport-Security"];
  expect(asked("https://home.example")).toBe("max-age=31536000");
  expect(asked("http://localhost:3000")).toBeUndefined();
});
