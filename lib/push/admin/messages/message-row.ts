import type { Audience } from "../../audience/audience";

/** A message with its broadcast, if it is one. */
export type MessageRow = {
  id: string;
  kind: string;
  accountId: string | null;
  deviceId: string | null;
  payload: { aps?: { alert?: Record<string, string> }; data?: Record<string, string> };
  expiresAt: Date;
  /** Whether deliveries of a broadcast are in the queue. false once the last one has expired. */
  isWaiting: boolean;
  canceledAt: Date | null;
  /** null: no broadcast. */
  queued: number | null;
  estimatedDevices: number | null;
  perSecond: number | null;
  bundleId: string | null;
  audience: Audience | null;
  startsAt: Date | null;
  isScheduled: boolean | null;
  nextDueAt: Date | null;
  endedAt: Date | null;
};
