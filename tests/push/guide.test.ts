import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { EVIDENCE_REASONS } from "@/lib/push/evidence/errors";

const GUIDE = readFileSync("docs/guides/push-ios.md", "utf8");
const document = JSON.parse(readFileSync("public/openapi.json", "utf8"));

/** What the first column of a section's last table names. */
function namedIn(heading: string): string[] {
  const section = GUIDE.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? "";
  const rows = section.split("\n").filter((line) => line.startsWith("| "));
  return rows.flatMap((row) => [...(row.split("|")[1] ?? "").matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name));
}

/** The codes that a route may answer with, as the OpenAPI document lists them. */
function codesOf(method: string, path: string): string[] {
  const responses = Object.values(document.paths[path][method].responses) as { $ref?: string }[];
  return responses.flatMap(({ $ref }) => {
    const response = document.components.responses[$ref?.split("/").at(-1) ?? ""];
    return response
      ? [...JSON.stringify(response).matchAll(/(?<!"pointer":"[^"]*",)"code":"([a-z_]+)"/g)].map(
          ([, code = ""]) => code,
        )
      : [];
  });
}

test("the iOS guide lists every error of POST /api/push/register and no other", () => {
  const codes = codesOf("post", "/api/push/register");
  expect(codes.length).toBeGreaterThan(10);
  const reasons = Object.keys(EVIDENCE_REASONS).filter((reason) => reason !== "subscription_mismatch"); // of browsers
  const known = new Set([...codes, ...reasons]);
  const named = namedIn("Handle errors").filter((name) => name !== "reason");
  expect(named.toSorted()).toEqual([...known].toSorted());
});
