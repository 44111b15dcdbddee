import type { CatalogVersion } from "@/lib/releases/publishing/list-versions";
import type { RolloutState } from "@/lib/releases/rollouts/list-rollouts";
import { Field } from "../../(web)/components/field";
import { ButtonLink, QuietButton } from "../components/action";
import { Facts } from "../components/facts";
import { SelectField } from "../components/fields";
import { ExactTime } from "../components/time";
import { PercentageFields } from "./percentage-fields";
import { actionPath } from "./version-actions";

type Props = { version: CatalogVersion; isEditable: boolean; isAdmin: boolean };

/** Who is offered the version, its schedule, and the forms that change both. */
export function RolloutPanel({ version, isEditable, isAdmin }: Props) {
  const { schedule, releases } = version;
  const percentages = [...new Set(releases.filter(({ yanked }) => !yanked).map(({ served }) => served))];
  const current = percentages.length === 1 ? (percentages[0] ?? 100) : Math.max(0, ...percentages);
  const isWithheld = releases.some(({ yanked, admission = "admitted" }) => !yanked && admission !== "admitted");
  const reach = percentages.map((one) => `${one}%`).join(", ") || "nobody";
  return (
    <>
      <Facts entries={[["Offered to", isWithheld ? `${reach}, once it is admitted` : reach]]} />
      {schedule && <Schedule version={version} schedule={schedule} isAdmin={isAdmin} />}
      {isEditable && !schedule && current > 0 && percentages.length > 0 && (
        <div className="buttons">
          <ButtonLink href={actionPath(version, "halt")}>Halt</ButtonLink>
        </div>
      )}
      {isEditable && (
        <div className="release-forms">
          <form className="form" action="/console/releases/change" method="get">
            <h3>Set a percentage</h3>
            <VersionFields version={version} action="rollout" />
            <PercentageFields current={current} />
            <QuietButton>Preview</QuietButton>
          </form>
          <form className="form" action="/console/releases/change" method="get">
            <h3>Advance by itself</h3>
            <VersionFields version={version} action="schedule" />
            <ScheduleFields />
            <QuietButton>Preview the first step</QuietButton>
          </form>
        </div>
      )}
    </>
  );
}

function VersionFields({ version: shown, action }: Pick<Props, "version"> & { action: string }) {
  const { product, channel, version } = shown;
  const fields = Object.entries({ action, product, channel, version });
  return fields.map(([name, value]) => <input key={name} type="hidden" name={name} value={value} />);
}

const STATES = { scheduled: "Scheduled", running: "Running", halted: "Halted", completed: "Completed" };

function Schedule({ version, schedule, isAdmin }: Omit<Props, "isEditable"> & { schedule: RolloutState }) {
  const { id, state, steps, step, startsAt, nextStepAt, haltReason } = schedule;
  const link = (action: "halt" | "resume" | "complete", label: string) => (
    <ButtonLink href={actionPath(version, action, { rolloutId: id })}>{label}</ButtonLink>
  );
  return (
    <>
      <Facts
        entries={[
          ["Schedule", STATES[state]],
          ["Steps", steps.map((one, i) => (i === step ? `${one}% (current)` : `${one}%`)).join(" → ")],
          startsAt && ["Starts", <ExactTime key="start" at={startsAt} />],
          nextStepAt && ["Next step", <ExactTime key="next" at={nextStepAt} />],
          haltReason !== null && ["Halted because", haltReason],
        ]}
      />
      {isAdmin && (
        <div className="buttons">
          {state !== "halted" && link("halt", "Halt")}
          {state === "halted" && link("resume", "Resume")}
          {state === "scheduled" && link("resume", "Start now")}
          {state !== "completed" && link("complete", "Complete")}
        </div>
      )}
    </>
  );
}

function ScheduleFields() {
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
