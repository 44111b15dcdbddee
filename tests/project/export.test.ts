import { expect, test } from "vitest";
import { Prisma } from "@/lib/platform/db/generated/client";
import { KINDS, LEFT_OUT } from "@/scripts/homeport/export/kinds";
import { read } from "@/tests/support/sources";

type Column = { name: string; type: string; isNullable: boolean; isList: boolean };

const models = Object.values(Prisma.ModelName);
const exported = new Set(Object.values(KINDS).map(({ model }) => model));
const schema = read("prisma/schema.prisma");

/** The columns of a model in the schema, without relations. */
function columnsOf(model: string): Column[] {
  const [, body = ""] = new RegExp(`^model ${model} \\{\\n(.*?)^\\}`, "ms").exec(schema) ?? [];
  const found = [...body.matchAll(/^ {2}(\w+) +(\w+)(\?|\[\])?/gm)];
  const columns = found.map(([, name = "", type = "", suffix]) => ({
    name,
    type,
    isNullable: suffix === "?",
    isList: suffix === "[]",
  }));
  return columns.filter(({ type }) => !models.some((one) => one === type));
}

test("every table is exported, or is left out for a reason", () => {
  const leftOut = Object.keys(LEFT_OUT);
  expect([...exported, ...leftOut].sort()).toEqual([...models].sort());
});

test("every column of an exported table is exported, or is left out", () => {
  for (const model of exported) {
    const kinds = Object.values(KINDS).filter((kind) => kind.model === model);
    const fields = kinds.flatMap((kind) => Object.entries(kind.fields).map(([name, { column = name }]) => column));
    const columns = [...fields, ...kinds.flatMap(({ leftOut = [] }) => leftOut)];
    expect([...new Set(columns)].sort(), model).toEqual(
      columnsOf(model)
        .map(({ name }) => name)
        .sort(),
    );
  }
});

const TYPES: Record<string, RegExp> = {
  String: /UUID|text|hash|one of/,
  DateTime: /time|date/,
  Boolean: /true or false/,
  Int: /integer of/,
  BigInt: /an integer$/,
  Float: /number/,
  Json: /JSON/,
  Bytes: /Base64/,
};

test("a field has the type of its column, and is nullable if it is", () => {
  for (const [name, kind] of Object.entries(KINDS)) {
    const columns = new Map(columnsOf(kind.model).map((column) => [column.name, column]));
    for (const [fieldName, { column = fieldName, type, isNullable }] of Object.entries(kind.fields)) {
      const stored = columns.get(column);
      const isFiltered = kind.includes?.({ [column]: null }) === false;
      const expected = TYPES[stored?.type ?? ""] ?? /one of/;
      expect(type.name, `${name}.${fieldName}`).toMatch(expected);
      expect([isNullable || isFiltered, type.name.startsWith("an array")], `${name}.${fieldName}`).toEqual([
        stored?.isNullable,
        stored?.isList,
      ]);
    }
  }
});

test("the guide lists every file with its fields", () => {
  const rows = read("docs/guides/leaving.md").split("\n");
  for (const [name, { fields, isSecret }] of Object.entries(KINDS)) {
    const names = Object.entries(fields).map(([field, { isNullable }]) => `\`${field}${isNullable ? "?" : ""}\``);
    expect(rows).toContain(`| \`${name}\`${isSecret ? " *" : ""} | ${names.join(", ")} |`);
  }
});
