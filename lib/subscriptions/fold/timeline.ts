import { type OwnerEvent, type OwnerStep, ownerSteps, withAliases } from "../ownership";
import { PurchaseState } from "../purchase-state";
import { type FoldStep, foldSteps } from "./fold-purchase";
import { isPurchaseEvent, type StoredEvent, toOwnerEvent, toPurchaseEvent } from "./stored-event";

/** A field of a purchase's state that an event changed, as JSON has it. */
type FieldChange = { field: string; before: unknown; after: unknown };

/** `transfers` and `aliases` are those of other events that name the purchase's customers. */
type TimelineInput = { events: StoredEvent[]; transfers: OwnerEvent[]; aliases: string[][] };

/**
 * How a purchase's state and owner came about: `steps` has the events that fold to the state, `owners` those that named or
 * changed the owner, each in the order in which they count, which may differ from their order of arrival. Pure.
 */
export function purchaseTimeline({ events, transfers, aliases }: TimelineInput): {
  steps: FoldStep[];
  owners: OwnerStep[];
} {
  const own = events.filter(isPurchaseEvent);
  const owners = ownerSteps([...own.map(toOwnerEvent), ...transfers], aliases).map((step) => ({
    ...step,
    appUserIds: withAliases(step.appUserIds, aliases),
  }));
  return { steps: foldSteps(own.map(toPurchaseEvent)), owners };
}

/** The fields in which two states differ. Before the first event, every field is null or false. */
export function changesOf(before: PurchaseState | null, after: PurchaseState): FieldChange[] {
  return Object.keys(PurchaseState.shape).flatMap((name) => {
    const field = name as keyof PurchaseState;
    const [old, now] = [before?.[field] ?? null, after[field]];
    const isSame = JSON.stringify(old) === JSON.stringify(now) || (before === null && isEmpty(now));
    return field === "lastEventAt" || isSame ? [] : [{ field, before: old, after: now }];
  });
}

const isEmpty = (value: unknown) => value === null || value === false || (Array.isArray(value) && value.length === 0);
