import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { read, sourceFiles } from "@/tests/support/sources";

test("commands name operations by their ids, and no path or method", () => {
  const named = sourceFiles("scripts/homeport").flatMap((file) =>
    [...read(file).matchAll(/["`]\/api\/|method: "|\.request\(/g)].map(([text]) => `${file}: ${text}`),
  );
  expect(named).toEqual([]);
});

/** Words that would run, or install, what somebody else has published under the name. */
const BY_NAME =
  /\b(?:npx|npm exec|npm (?:i|install)|pnpx|bunx|pnpm dlx|yarn dlx)(?: -+\S+)* (?:--package[= ])?(?:homeport(?:-release)?|@homeport\/\w+)(?![\w./-])/;

test("nothing tells anybody to fetch Homeport's tools by their names from a registry", () => {
  const lines = gitLines("grep", "-InE", "(npx|npm|bunx|dlx).*homeport");
  const named = lines.filter((line) => BY_NAME.test(line) && !line.startsWith("tests/project/commands.test.ts:"));
  expect(named).toEqual([]);
  const refused = ["npx homeport accounts list", "npx --yes homeport-release", "npm install @homeport/client"];
  expect(refused.filter((text) => !BY_NAME.test(text))).toEqual([]);
});

test("the URLs of the tools in the documents have the version of the service", () => {
  const { version } = JSON.parse(read("package.json")) as { version: string };
  const urls = gitLines("grep", "-IhoE", "install/(homeport|client)-[0-9][^ ]*\\.tgz", "--", "*.md", "examples");
  expect(urls.length).toBeGreaterThan(2);
  expect(urls.filter((url) => !url.endsWith(`-${version}.tgz`))).toEqual([]);
});

function gitLines(...args: string[]): string[] {
  return execFileSync("git", args, { encoding: "utf8" }).trim().split("\n");
}
