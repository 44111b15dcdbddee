/** Stands for a value that there is not. On narrow screens, tables leave it out. */
export function None() {
  return <span className="none">–</span>;
}
