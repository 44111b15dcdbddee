import { expect, test } from "vitest";
import { pageHeaders } from "@/lib/http/pages/page-headers";

test("over https a page asks for https for a year, over http for nothing", () => {
  const asked = (baseUrl: string) => pageHeaders({ baseUrl }, "nonce", false)["Strict-Transport-Security"];
  expect(asked("https://home.example")).toBe("max-age=31536000");
  expect(asked("http://localhost:3000")).toBeUndefined();
});
