import type { ActionName, ReleaseAction } from "@/lib/releases/publishing/release-action";

type Text = {
  title: (action: ReleaseAction) => string;
  /** What happens, beyond the figures of the preview. */
  consequence: string;
  button: string;
  isDanger?: true;
  takesReason?: true;
};

const nameOf = ({ product, version }: ReleaseAction) => `${product} ${version}`;

/** What each action is called and does. */
export const ACTION_TEXTS: Readonly<Record<ActionName, Text>> = {
  rollout: {
    title: (action) => `Change the rollout of ${nameOf(action)}`,
    consequence: "Clients that have the version keep it. A schedule of this version ends.",
    takesReason: true,
    button: "Set the percentage",
  },
  schedule: {
    title: (action) => `Schedule the rollout of ${nameOf(action)}`,
    consequence:
      "The preview shows the first step, or the time before the start. The service advances the rollout by itself and halts it when clients report failures or do not come back. An earlier schedule is replaced.",
    button: "Schedule the rollout",
  },
  halt: {
    title: (action) => `Halt the rollout of ${nameOf(action)}`,
    consequence:
      "The version is offered to no other client. Clients that have it keep it. A schedule can be resumed at the same step; without one, a percentage offers the version again.",
    button: "Halt the rollout",
    isDanger: true,
    takesReason: true,
  },
  resume: {
    title: (action) => `Resume the rollout of ${nameOf(action)}`,
    consequence: "The step starts again with its full duration. Earlier reports no longer count.",
    button: "Resume the rollout",
  },
  complete: {
    title: (action) => `Complete the rollout of ${nameOf(action)}`,
    consequence: "The rollout goes to its last step at once and can no longer halt automatically.",
    button: "Complete the rollout",
  },
  yank: {
    title: (action) => `Yank ${nameOf(action)}`,
    consequence:
      "The version is no longer served, neither as an update nor as a download. Clients that have it keep it, unless an older version is a rollback. Its schedule halts. It can be offered again.",
    button: "Yank the version",
    isDanger: true,
    takesReason: true,
  },
  restore: {
    title: (action) => `Offer ${nameOf(action)} again`,
    consequence:
      "The version is served again, to the percentage that it had. A schedule that ran until the yank goes on from that step, which lasts its full duration again.",
    button: "Offer it again",
  },
  critical: {
    title: (action) => `Mark ${nameOf(action)} as critical`,
    consequence:
      "Clients with an older version must update: updaters that support mandatory updates do not let users skip it.",
    button: "Mark as critical",
  },
  not_critical: {
    title: (action) => `${nameOf(action)} is no longer critical`,
    consequence: "Users may skip the update again.",
    button: "Remove critical",
  },
  rollback: {
    title: (action) => `Roll back to ${nameOf(action)}`,
    consequence:
      "Newer versions of the channel are withdrawn, and their schedules halt or end. Clients with one of them are offered this version if their updater can go back; the others keep what they have and get no further update until a newer version is published.",
    button: "Roll back",
    isDanger: true,
  },
  promote: {
    title: (action) => `Offer ${nameOf(action)} on ${action.to ?? "stable"}`,
    consequence: "The same files are published on the other channel, too. This channel stays as it is.",
    button: "Offer it there",
  },
};
