import { Field } from "../../(web)/components/field";
import { SelectField } from "../components/select-field";

/** The fields of a schedule. */
export function ScheduleFields() {
  return (
    <>
      <Field name="steps" label="Steps" hint="Ascending percentages." defaultValue="5, 20, 50, 100" required />
      <div className="duration">
        <Field name="every" label="Each step lasts" type="number" min="1" max="99999" defaultValue="24" required />
        <SelectField
          name="unit"
          label="Unit"
          options={{ minutes: "minutes", hours: "hours", days: "days" }}
          defaultValue="hours"
        />
      </div>
      <Field
        name="startsAt"
        label="Starts at (optional)"
        hint="In UTC. Empty: at once. Until then nobody is offered the version."
        type="datetime-local"
      />
    </>
  );
}
