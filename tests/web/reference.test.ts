import { transform } from "esbuild";
import { describe, expect, test } from "vitest";
import { SEARCH_ENTRIES } from "@/app/(web)/docs/frame/docs-frame";
import { search } from "@/app/(web)/docs/frame/search";
import { allOperations } from "@/app/(web)/docs/reference/document";
import { GROUPS, operationHref } from "@/app/(web)/docs/reference/groups";
import { sampleRequest } from "@/app/(web)/docs/samples/request";
import { javascriptSample, samplesOf } from "@/app/(web)/docs/samples/samples";

const operations = allOperations();
const operation = (id: string) => {
  const found = operations.find(({ operationId }) => operationId === id);
  if (!found) throw new Error(`There is no operation ${id}`);
  return found;
};

test("every operation is in one group, and next-auth's come last", () => {
  const grouped = GROUPS.flatMap((group) => group.operations.map(({ operationId }) => operationId));
  expect(grouped.toSorted()).toEqual(operations.map(({ operationId }) => operationId).toSorted());
  expect(new Set(grouped).size).toBe(grouped.length);
  expect(GROUPS.at(-1)?.slug).toBe("next-auth");
  expect(operationHref("logIn")).toBe("/docs/web#logIn");
});

describe("a sample request", () => {
  test("sends the credentials as variables, and the first example as its body", () => {
    const [[, curl], [, javascript], [, swift]] = samplesOf(
      sampleRequest(operation("registerDevice"), "https://api.example.com"),
    ) as [[string, string], [string, string], [string, string]];
    expect(curl).toContain("curl -X POST 'https://api.example.com/api/push/register'");
    expect(curl).toContain('-H "Authorization: Bearer $TOKEN"');
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the sample's own template.
    expect(javascript).toContain("Authorization: `Bearer ${token}`");
    expect(swift).toContain(String.raw`"Bearer \(token)"`);
  });

  test("has no path parameter without a value", () => {
    for (const one of operations) expect(sampleRequest(one, "").url).not.toMatch(/[{}]|%7B/);
  });

  test("is valid JavaScript", async () => {
    for (const one of operations) {
      await transform(javascriptSample(sampleRequest(one, "https://api.example.com")), { format: "esm" });
    }
  });
});

test("the search finds paths, summaries, fields and error codes by all words", () => {
  const first = (query: string) => search(SEARCH_ENTRIES, query)[0]?.href;
  expect(first("post /api/auth/login")).toBe("/docs/web#logIn");
  expect(first("account.created")).toBe("/docs/webhooks#receiveAccountCreated");
  expect(first("rate_limited")).toBe("/docs/errors#rate_limited");
  expect(search(SEARCH_ENTRIES, "login nothing-like-this")).toEqual([]);
});
