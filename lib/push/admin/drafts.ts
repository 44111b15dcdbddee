import { z } from "zod";
import { parseUtc, UtcText } from "../../platform/storable";
import { Audience } from "../audience";
import { Announcement, CustomMessage } from "./new-message";
import { PerSecondText } from "./schema";

const { title, body, link } = CustomMessage.shape;
const { appVersion, bundleId, entitlement, locale, platform } = Audience.shape;
const { from, below } = appVersion.unwrap().shape;
const Day = z.iso.date("Must be a date such as 2026-11-22").optional();

/** What an operator writes before the preview. It travels in the URL, which bounds the text. */
export const Draft = z.object({
  account: z.string().trim().max(320).optional(),
  title: z.string().trim().max(200).optional(),
  body: z.string().trim().max(1_000).optional(),
  link: z.string().trim().max(1_000).optional(),
});
export type Draft = z.infer<typeof Draft>;

/** A notification to send: to one device, or to the account's. `messageKey` is the form's: it is sent once. */
export const SendForm = z.object({
  messageKey: z.uuid(),
  accountId: z.uuid(),
  deviceId: z.uuid().optional(),
  title,
  body,
  link,
});

/** The fields that select an audience, and when it is notified. Times are in UTC. */
export const AudienceFields = z.object({
  bundleId,
  platform,
  appFrom: from,
  appBelow: below,
  locale,
  entitlement,
  seenFrom: Day,
  seenBefore: Day,
  sendAt: UtcText.optional(),
  perSecond: PerSecondText,
});
export type AudienceFields = z.infer<typeof AudienceFields>;

/** A notification to an audience before its estimate. */
export const AudienceDraft = Draft.omit({ account: true }).extend(AudienceFields.shape);

export const SendToAudienceForm = SendForm.omit({ accountId: true, deviceId: true }).extend(AudienceFields.shape);

/** An announcement before its estimate. */
export const AnnouncementDraft = AudienceFields.extend({
  version: Announcement.shape.version.optional(),
  done: z.string().optional(),
});

/** A version to announce, as a form sends it. `isWarned`: the preview said that it is not published. */
export const AnnounceForm = AudienceFields.extend({
  version: Announcement.shape.version,
  isWarned: z.enum(["", "on"]).default(""),
});

/** Returns the audience that the fields of a form select. */
export function toAudience(fields: AudienceFields): Audience {
  const { bundleId, platform, appFrom, appBelow, locale, entitlement, seenFrom, seenBefore } = fields;
  const isVersioned = appFrom !== undefined || appBelow !== undefined;
  const isSeen = seenFrom !== undefined || seenBefore !== undefined;
  return {
    bundleId,
    platform,
    locale,
    entitlement,
    ...(isVersioned ? { appVersion: { from: appFrom, below: appBelow } } : {}),
    ...(isSeen ? { lastSeen: { from: startOf(seenFrom), before: startOf(seenBefore) } } : {}),
  };
}

/** Returns the time that a form gives, in UTC. */
export function toSendAt({ sendAt }: AudienceFields): Date | undefined {
  return sendAt === undefined ? undefined : parseUtc(sendAt);
}

const startOf = (day: string | undefined) => (day === undefined ? undefined : `${day}T00:00:00Z`);
