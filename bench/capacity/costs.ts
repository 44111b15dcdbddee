import { medianOf } from "../lib/table";
import type { Published } from "../report/published";

/** The operations whose costs the workload `operations` measures, by the names of its rows. */
export const OPERATION = {
  updateCheck: "update check",
  status: "subscription status",
  billingEvent: "billing event",
  launch: "push registration of an active device",
  newDevice: "push registration of a new device",
  notification: "notification to APNs",
  signIn: "sign-in, bcrypt cost 12",
  registration: "registration, bcrypt cost 12",
} as const;
export type OperationName = keyof typeof OPERATION;
export type Operation = (typeof OPERATION)[OperationName];

/** The tables that grow with customers, by the names of the rows of the workload `bytes`. */
export const STORED = {
  Account: "account",
  Session: "session",
  AuditEvent: "audit event",
  Purchase: "purchase",
  BillingEvent: "billing event",
  PushDevice: "device",
  PushReceipt: "receipt of a notification",
} as const;
export type Table = keyof typeof STORED;
export const TABLES = Object.keys(STORED) as Table[];

export const UPDATE_CHECK_RESPONSE = "response to an update check";

/** `serverMs` and `databaseMs`: CPU milliseconds an operation. `storedBytes`: a row with its indexes. */
export type Costs = {
  operations: Record<OperationName, { serverMs: number; databaseMs: number; walBytes: number }>;
  storedBytes: Record<Table, number>;
  updateCheckBytes: number;
};

/** Reads the measured costs; null if they are not published. */
export function readCosts(published: Published): Costs | null {
  const { operations, bytes } = published;
  if (!operations || !bytes) return null;
  const sizeOf = (name: string) =>
    medianOf(bytes.rows.find(({ candidate }) => candidate === name)?.bytes ?? Number.NaN);
  const costsOf = (name: string) => {
    const row = operations.rows.find(({ candidate }) => candidate === name);
    const { cpuMsPerRequest, databaseCpuMsPerRequest, walBytesPerRequest } = row ?? {};
    return {
      serverMs: medianOf(cpuMsPerRequest ?? Number.NaN),
      databaseMs: medianOf(databaseCpuMsPerRequest ?? Number.NaN),
      walBytes: medianOf(walBytesPerRequest ?? Number.NaN),
    };
  };
  return {
    operations: mapValues(OPERATION, costsOf),
    storedBytes: mapValues(STORED, sizeOf),
    updateCheckBytes: sizeOf(UPDATE_CHECK_RESPONSE),
  };
}

function mapValues<K extends string, T>(record: Readonly<Record<K, string>>, map: (value: string) => T): Record<K, T> {
  const entries = Object.entries<string>(record).map(([key, value]) => [key, map(value)]);
  return Object.fromEntries(entries) as Record<K, T>;
}
