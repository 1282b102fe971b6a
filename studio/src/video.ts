// A video of what the page shows while it runs: the network, the plots and their legend, drawn into one canvas that the browser records.

const [WIDTH, HEIGHT] = [1280, 720];
const FRAMES_PER_SECOND = 25;
const TYPES = ["video/webm;codecs=vp9", "video/webm", "video/mp4"];

export interface Scene {
  title: string; clock: string; legend: { name: string; color: string; dash: number[] }[];
  network: HTMLCanvasElement; plots: { caption: string; canvas: HTMLCanvasElement }[];
  ground: string; panel: string; ink: string;
}

export class Video {
  private recorder: MediaRecorder | null = null;
  private readonly canvas = Object.assign(document.createElement("canvas"), { width: WIDTH, height: HEIGHT });

  get isRecording(): boolean {
    return this.recorder !== null;
  }

  /** Begins; `done` is given the video and the ending of its name. False where this browser records none. */
  start(done: (video: Blob, ending: string) => void): boolean {
    const type = typeof MediaRecorder === "undefined" ? undefined : TYPES.find((one) => MediaRecorder.isTypeSupported(one));
    if (!type) return false;
    const parts: Blob[] = [];
    const recorder = new MediaRecorder(this.canvas.captureStream(FRAMES_PER_SECOND), { mimeType: type, videoBitsPerSecond: 4_000_000 });
    recorder.ondataavailable = ({ data }) => { if (data.size > 0) parts.push(data); };
    recorder.onstop = () => done(new Blob(parts, { type }), type.startsWith("video/mp4") ? "mp4" : "webm");
    recorder.start(1000);
    this.recorder = recorder;
    return true;
  }

  stop(): void {
    this.recorder?.stop();
    this.recorder?.stream.getTracks().forEach((track) => track.stop());
    this.recorder = null;
  }

  /** The next picture of it: the network over the plots, two in a row. */
  draw({ title, clock, legend, network, plots, ground, panel, ink }: Scene): void {
    const context = this.canvas.getContext("2d")!;
    const write = (text: string, x: number, y: number, align: CanvasTextAlign = "left") => { context.textAlign = align; context.fillStyle = ink; context.fillText(text, x, y); };
    context.fillStyle = ground;
    context.fillRect(0, 0, WIDTH, HEIGHT);
    context.font = "600 18px system-ui";
    write(title, 20, 30);
    write(clock, WIDTH - 20, 30, "right");
    context.font = "15px system-ui";
    let x = 20;
    for (const { name, color, dash } of legend) {
      const width = context.measureText(name).width + 60;
      if (x + width > WIDTH - 20) break;
      context.strokeStyle = color;
      context.lineWidth = 3;
      context.setLineDash(dash);
      context.beginPath();
      context.moveTo(x, 49);
      context.lineTo(x + 30, 49);
      context.stroke();
      write(name, x + 36, 54);
      x += width;
    }
    const put = (canvas: HTMLCanvasElement, box: [number, number, number, number]) => {
      const [left, top, width, height] = box;
      context.fillStyle = panel;
      context.fillRect(...box);
      if (canvas.width === 0 || canvas.height === 0) return;
      const scale = Math.min((width - 12) / canvas.width, (height - 12) / canvas.height);
      context.drawImage(canvas, left + (width - scale * canvas.width) / 2, top + (height - scale * canvas.height) / 2, scale * canvas.width, scale * canvas.height);
    };
    put(network, [20, 68, WIDTH - 40, 190]);
    plots.slice(0, 4).forEach(({ caption, canvas }, index) => {
      const [left, top] = [20 + (index % 2) * (WIDTH / 2 - 14), 282 + Math.floor(index / 2) * 218];
      write(caption, left, top);
      put(canvas, [left, top + 6, WIDTH / 2 - 26, 190]);
    });
  }
}
