/** The alert of a Live Activity's update (Apple, "Starting and updating Live Activities with ActivityKit push notifications"). */
type Alert = { title: string; body: string; sound?: string | undefined };

/** What a Live Activity shows from a time on. `contentState` is whole: nothing of the state before it remains. */
type LiveActivityContent = {
  contentState?: Record<string, unknown> | undefined;
  staleDate?: Date | undefined;
  dismissalDate?: Date | undefined;
  relevanceScore?: number | undefined;
  alert?: Alert | undefined;
};

type Start = { attributesType: string; attributes: Record<string, unknown>; inputPushToken?: boolean | undefined };

/** A notification for Live Activities. `at` is its time: ActivityKit ignores one that is older than what is shown. */
export type LiveActivityMessage = LiveActivityContent & {
  at: Date;
  /** `apns-priority`: 10 by default, of which iOS accepts a limited number an hour. */
  priority?: 5 | 10 | undefined;
  ttlSeconds?: number | undefined;
} & (
    | ({ kind: "live_activity.start" } & Start)
    | { kind: "live_activity.update"; activityId: string }
    | { kind: "live_activity.end"; activityId: string }
  );

/**
 * Which Live Activity of a device a stored message is for: the activity of this id, or for `start` the type of its
 * attributes. `at` is in milliseconds since 1970.
 */
export type LiveActivityTarget = { event: "start" | "update" | "end"; name: string; at: number };

/** Whether a message is for Live Activities. */
export function isLiveActivityMessage<M extends { kind: string }>(
  message: M | LiveActivityMessage,
): message is LiveActivityMessage {
  return message.kind.startsWith("live_activity.");
}

/** Returns the payload of a notification for Live Activities, and which they are. */
export function composeLiveActivity(message: LiveActivityMessage) {
  const { at } = message;
  const isStart = message.kind === "live_activity.start";
  const event = isStart ? "start" : message.kind === "live_activity.update" ? "update" : "end";
  const name = isStart ? message.attributesType : message.activityId;
  const liveActivity: LiveActivityTarget = { event, name, at: at.getTime() };
  return { aps: { ...apsOfContent(event, at, message), ...(isStart ? apsOfStart(message) : {}) }, liveActivity };
}

/**
 * Returns `aps` of a notification for Live Activities. Undefined fields are left out of the JSON. Apple's times are in
 * seconds since 1970.
 */
function apsOfContent(event: LiveActivityTarget["event"], at: Date, content: LiveActivityContent): object {
  const { contentState, staleDate, dismissalDate, relevanceScore, alert } = content;
  return {
    timestamp: toUnixSeconds(at),
    event,
    "content-state": contentState,
    "stale-date": staleDate && toUnixSeconds(staleDate),
    "dismissal-date": dismissalDate && toUnixSeconds(dismissalDate),
    "relevance-score": relevanceScore,
    alert,
  };
}

function apsOfStart({ attributesType, attributes, inputPushToken }: Start): object {
  return { "attributes-type": attributesType, attributes, "input-push-token": inputPushToken ? 1 : undefined };
}

function toUnixSeconds(date: Date): number {
  return Math.floor(date.getTime() / 1000);
}
