import { type ArgType, type ColumnType, ColumnTypeEnum, DriverAdapterError } from "@prisma/driver-adapter-utils";
import { parse } from "postgres-array";

type Read = (text: string) => unknown;
const asText: Read = (text) => text;
/** The session's time zone is UTC. */
const readTime: Read = (time) => `${time.replace(" ", "T").replace(/\+00$/, "")}+00:00`;
const readBytes: Read = (text) => Buffer.from(text.slice(2), "hex");

/** A type of PostgreSQL: Prisma's name for it, its OID and that of its array (PostgreSQL, pg_type.dat), and how its text is read. */
const TYPES: [type: keyof typeof ColumnTypeEnum, oid: number, arrayOid: number, read: Read][] = [
  ["Boolean", 16, 1000, (text) => text === "t"],
  ["Bytes", 17, 1001, readBytes],
  ["Character", 18, 1002, asText], // "char", of system catalogs
  ["Text", 19, 1003, asText], // name
  ["Int64", 20, 1016, asText],
  ["Int32", 21, 1005, Number], // int2
  ["Int32", 23, 1007, Number],
  ["Text", 25, 1009, asText],
  ["Int64", 26, 1028, Number], // oid
  ["Json", 114, 199, asText], // Prisma parses it
  ["Text", 142, 143, asText], // xml
  ["Text", 650, 651, asText], // cidr
  ["Float", 700, 1021, Number],
  ["Double", 701, 1022, Number],
  ["Text", 869, 1041, asText], // inet
  ["Text", 1042, 1014, asText], // bpchar
  ["Text", 1043, 1015, asText], // varchar
  ["Date", 1082, 1182, asText],
  ["Time", 1083, 1183, asText],
  ["DateTime", 1114, 1115, readTime],
  ["DateTime", 1184, 1185, readTime], // with time zone
  ["Text", 1560, 1561, asText], // bit
  ["Text", 1562, 1563, asText], // varbit
  ["Numeric", 1700, 1231, asText],
  ["Uuid", 2950, 2951, asText],
  ["Json", 3802, 3807, asText], // jsonb
];

/** The types that a database's owner creates, such as enums, have larger OIDs (PostgreSQL, transam.h). */
const FIRST_OWN_OID = 16384;

const columnTypes = new Map<number, ColumnType>();
/** Reads values for Prisma from their text, by OID. */
export const PARSERS: Record<number, Read> = {};
for (const [type, oid, arrayOid, read] of TYPES) {
  columnTypes.set(oid, ColumnTypeEnum[type]);
  columnTypes.set(arrayOid, ColumnTypeEnum[`${type}Array` as keyof typeof ColumnTypeEnum]);
  PARSERS[oid] = read;
  PARSERS[arrayOid] = (text) => parse(text, read);
}

/** @throws DriverAdapterError for a type that Prisma does not read, such as an interval */
export function columnTypeOf(oid: number): ColumnType {
  const type = oid >= FIRST_OWN_OID ? ColumnTypeEnum.Text : columnTypes.get(oid);
  if (type === undefined) throw new DriverAdapterError({ kind: "UnsupportedNativeDataType", type: `with OID ${oid}` });
  return type;
}

/** Returns an argument of Prisma as PGlite takes it: times as text, and bytes, which Prisma may give as base64, as bytes. */
export function toValue(argument: unknown, type: ArgType | undefined): unknown {
  if (Array.isArray(argument)) return type?.arity === "list" ? argument.map((one) => toValue(one, type)) : argument;
  if (argument instanceof Date) return timeText(argument);
  if (typeof argument !== "string") return argument;
  if (type?.scalarType === "datetime") return timeText(new Date(argument));
  return type?.scalarType === "bytes" ? Buffer.from(argument, "base64") : argument;
}

/** A time as PostgreSQL reads it for each of its types: `time` takes no zone, and a year after 9999 no sign. */
const timeText = (time: Date) => time.toISOString().replace(/[TZ]/g, " ").replace(/^\+0?/, "");
