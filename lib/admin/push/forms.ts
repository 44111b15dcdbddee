import { z } from "zod";
import { Announcement, CustomMessage } from "./messages/new-message";
import { EstimateQuery } from "./schema";

const { title, body, link } = CustomMessage.shape;
const optional = <T extends z.ZodType>(schema: T) => z.preprocess((text) => (text === "" ? undefined : text), schema);

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
  deviceId: optional(z.uuid().optional()),
  title,
  body,
  link: optional(link),
});

const PerSecondText = EstimateQuery.shape.perSecond;

/** An announcement before its estimate. */
export const AnnouncementDraft = z.object({
  version: Announcement.shape.version.optional(),
  bundleId: EstimateQuery.shape.bundleId,
  perSecond: PerSecondText,
});

/** A version to announce, as a form sends it. */
export const AnnounceForm = z.object({
  version: Announcement.shape.version,
  bundleId: optional(EstimateQuery.shape.bundleId),
  perSecond: PerSecondText,
});
