import { transform } from "esbuild";
import { describe, expect, test } from "vitest";
import { SEARCH_ENTRIES } from "@/app/(web)/docs/frame/docs-frame";
import { search } from "@/app/(web)/docs/frame/search";
import { allOperations, type Operation } from "@/app/(web)/docs/reference/document";
import { GROUPS, operationHref } from "@/app/(web)/docs/reference/groups";
import { markdownPages } from "@/app/(web)/docs/reference/reference-markdown";
import { sampleRequest } from "@/app/(web)/docs/samples/request";
import { javascriptSample, samplesOf } from "@/app/(web)/docs/samples/samples";
import { call } from "@/tests/support/api";
import { withContext } from "@/tests/support/context";

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

describe("as Markdown", () => {
  const pages = markdownPages();

  test("each page has its operations, and its links lead to pages that there are", () => {
    for (const { slug, operations: own } of GROUPS) {
      const page = pages.get(`/docs/${slug}.md`);
      const headOf = ({ summary, method, path }: Operation) => `\n## ${summary}\n\n\`${method} ${path}\``;
      expect(own.filter((one) => !page?.includes(headOf(one)))).toEqual([]);
    }
    const linked = [...pages.values()].flatMap((text) =>
      [...text.matchAll(/\]\((\/[^)#]*\.md)\)/g)].map(([, to]) => to),
    );
    expect(linked.filter((to = "") => !pages.has(to))).toEqual([]);
    expect(new Set(linked)).toEqual(new Set([...pages.keys()].filter((one) => one !== "/docs.md")));
  });

  test("every code block is closed, whatever the example contains", () => {
    for (const [name, text] of pages) {
      const fences = text.match(/^`{3,}/gm) ?? [];
      expect([name, fences.length % 2]).toEqual([name, 0]);
    }
  });

  test("/llms.txt names the company and lists them, as llmstxt.org describes", async () => {
    await withContext({ config: { BRAND_NAME: "Acme" } }, async () => {
      const response = await call("GET", "/llms.txt");
      expect(response.headers.get("content-type")).toBe("text/plain; charset=utf-8");
      const text = await response.text();
      expect(text).toMatch(
        /^# Acme\n\n> .*\n\n(?!#).*\n\n## API reference\n\n(?:- \[.+\]\(http.+\): .+\n)+\n## Optional\n\n- \[/,
      );
      const listed = [...text.matchAll(/\((http[^)]+\.md)\)/g)].map(([, url = ""]) => new URL(url).pathname);
      expect(listed).toEqual([...pages.keys()]);
    });
  });
});

test("the search finds paths, summaries, fields and error codes by all words", () => {
  const first = (query: string) => search(SEARCH_ENTRIES, query)[0]?.href;
  expect(first("post /api/auth/login")).toBe("/docs/web#logIn");
  expect(first("account.created")).toBe("/docs/webhooks#receiveAccountCreated");
  expect(first("rate_limited")).toBe("/docs/errors#rate_limited");
  expect(search(SEARCH_ENTRIES, "login nothing-like-this")).toEqual([]);
});
