import type { AudienceFields as Values } from "@/lib/push/admin/drafts";
import { DEFAULT_PER_SECOND, MAX_PER_SECOND } from "@/lib/push/admin/schema";
import { Field } from "../../../(web)/components/field";
import { SelectField } from "../../components/fields";
import { PLATFORMS } from "./audience-text";

const TEXT_FIELDS = [
  { name: "appFrom", label: "Installed version from", maxLength: 64 },
  { name: "appBelow", label: "Installed version below", maxLength: 64 },
  { name: "locale", label: "Language", placeholder: "de, de-AT", maxLength: 35 },
  { name: "entitlement", label: "Active entitlement", maxLength: 255 },
] as const;

type Props = { values: Partial<Values>; bundleIds: readonly string[] };

/** The fields that select an audience, and when it is notified. Without a choice, it is every device. */
export function AudienceFields({ values, bundleIds }: Props) {
  const apps = Object.fromEntries(bundleIds.map((id) => [id, id]));
  return (
    <>
      <fieldset className="audience">
        <legend>Devices</legend>
        <p className="hint">The devices that match every choice.</p>
        <SelectField name="bundleId" label="App" options={{ "": "All", ...apps }} defaultValue={values.bundleId} />
        <SelectField
          name="platform"
          label="Platform"
          options={{ "": "All", ...PLATFORMS }}
          defaultValue={values.platform}
        />
        {TEXT_FIELDS.map((field) => (
          <Field key={field.name} {...field} defaultValue={values[field.name]} autoComplete="off" />
        ))}
        <Field name="seenFrom" label="Seen since (UTC)" type="date" defaultValue={values.seenFrom} />
        <Field name="seenBefore" label="Not seen since (UTC)" type="date" defaultValue={values.seenBefore} />
      </fieldset>
      <Field
        name="sendAt"
        label="Send at (optional)"
        hint="In UTC, at most 90 days ahead. Empty: now."
        type="datetime-local"
        defaultValue={values.sendAt}
      />
      <Field
        name="perSecond"
        label="Devices per second"
        hint="Prevents all devices from opening the app at once."
        type="number"
        min={1}
        max={MAX_PER_SECOND}
        defaultValue={values.perSecond ?? DEFAULT_PER_SECOND}
        required
      />
    </>
  );
}
