/** In place of a missing value. On narrow screens, tables leave it out. */
export function Dash() {
  return <span className="dash">–</span>;
}
