import { createHash } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { encrypt } from "@/lib/platform/backup/encoding";
import type { FieldType } from "@/scripts/homeport/export/fields";
import * as types from "@/scripts/homeport/export/fields";
import { fileName, type Manifest, type ManifestFile } from "@/scripts/homeport/export/folder";
import { KINDS, type Kind, keyOf, RELEASE_KEYS, RELEASES, VAPID_KEYS } from "@/scripts/homeport/export/kinds";
import { manifestEntry } from "@/tests/support/releases/entries";

/** What COPY, arrays and JSON each escape. */
const HOSTILE = 'tab\t line\n\r back\\slash \\N "quoted" {a,b} NULL é 𝄞 \b\f\v \u0085\u2028';
const HASH = "$2b$04$homeportdummysaltvaluexxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";

const id = (number: number) => `0198e000-0000-7000-8000-${String(number).padStart(12, "0")}`;

/** Two values of a type: ends of its range, and what is difficult to write. */
function valuesOf(type: FieldType): [unknown, unknown] {
  const known = new Map<FieldType, [unknown, unknown]>([
    [types.uuid, [id(1), id(2)]],
    [types.text, [`${HOSTILE} 1`, `${HOSTILE} 2`]],
    [types.int, [-(2 ** 31), 2 ** 31 - 1]],
    [types.smallInt, [-(2 ** 15), 2 ** 15 - 1]],
    [types.count, [0, Number.MAX_SAFE_INTEGER]],
    [types.float, [0.1, 1.7976931348623157e308]],
    [types.boolean, [true, false]],
    [types.time, ["0001-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z"]],
    [types.date, ["0001-01-01", "9999-12-31"]],
    [types.bytes, ["AAECAwT/", ""]],
    [types.json, [{ a: HOSTILE, b: [1e21, 0.1, null, true, {}, []], cc: { __proto__: 1 } }, [1.5]]],
    [
      types.password,
      [
        { format: "bcrypt", hash: HASH },
        { format: "phc", input: "nfkc", hash: "$scrypt$ln=15,r=8,p=1$c2FsdA$aGFzaA" },
      ],
    ],
  ]);
  const found = known.get(type);
  if (found) return found;
  const [, first = "", second = first] = /^one of (\w+)(?:, (\w+))?/.exec(type.name) ?? [];
  if (first) return [first, second];
  return type.name.includes("a number") ? [[0.1, 100], []] : [[HOSTILE, "", "NULL", '"'], []];
}

/** Two records of a kind: the first has every field, the second only those that are required. */
function recordsOf(kind: Kind): Record<string, unknown>[] {
  return [0, 1].map((index) =>
    Object.fromEntries(
      Object.entries(kind.fields).map(([name, { type, isNullable }]) => [
        name,
        index === 1 && isNullable && name !== "confirmedAt" ? null : valuesOf(type)[index],
      ]),
    ),
  );
}

type Options = { recipient: string; files?: Record<string, unknown[]> };

/** The records of an export with every kind, in the order of their files. */
export function syntheticRecords(): Record<string, unknown[]> {
  const kinds = Object.entries(KINDS).map(([name, kind]) => {
    const sorted = recordsOf(kind).sort((a, b) => (keyOf(kind, a) < keyOf(kind, b) ? -1 : 1));
    return [name, sorted] as const;
  });
  const privateKey = Buffer.alloc(32, 7).toString("base64url");
  const release = manifestEntry({ id: "core-windows-x64-1.0.0" });
  return { ...Object.fromEntries(kinds), [VAPID_KEYS]: [{ privateKey }], [RELEASES]: [release], [RELEASE_KEYS]: [] };
}

/** Writes an export with these records, or those of `syntheticRecords`. */
export async function writeSynthetic(
  folder: string,
  { recipient, files = syntheticRecords() }: Options,
): Promise<void> {
  await mkdir(folder, { recursive: true });
  const listed: ManifestFile[] = [];
  for (const [kind, records] of Object.entries(files)) {
    const isEncrypted = kind === VAPID_KEYS || KINDS[kind]?.isSecret === true;
    const name = fileName(kind, isEncrypted);
    const plain = Buffer.from(records.map((record) => `${JSON.stringify(record)}\n`).join(""));
    const sha256 = createHash("sha256").update(plain).digest("hex");
    listed.push({ name, isEncrypted, count: records.length, bytes: plain.length, sha256 });
    const stored = isEncrypted ? await buffer(encrypt(Readable.from([plain]), [recipient])) : plain;
    await writeFile(path.join(folder, name), stored);
  }
  const createdAt = "2026-11-28T00:00:00.000Z";
  const manifest: Manifest = { schemaVersion: 1, version: "1.0.0", createdAt, files: listed, releaseFiles: [] };
  await writeFile(path.join(folder, "manifest.json"), JSON.stringify(manifest));
}
