"""Calls ``boxes.cpp``."""

LIBRARY = True


def run(torch, _):
    ops = torch.ops.boxes
    dets = torch.tensor(
        [
            [0, 0, 10, 10],
            [1, 1, 10, 10],
            [20, 20, 30, 30],
            [0, 0, 9, 11],
            [20, 21, 30, 29.0],
        ]
    )
    scores = torch.tensor([0.5, 0.9, 0.3, 0.8, 0.7])
    print(ops.nms(dets, scores, 0.5), ops.nms(dets, scores, 0.95))
    print(ops.nms(dets[:0], scores[:0], 0.5))
    with torch.autocast("cpu", torch.bfloat16):
        print(ops.nms(dets.bfloat16(), scores, 0.5))
    x = torch.arange(64.0, dtype=torch.double).reshape(1, 2, 4, 8).requires_grad_()
    rois = torch.tensor([[0, 0, 0, 4, 4], [0, 2, 1, 7, 3.0]], dtype=torch.double)
    y = ops.roi_pool(x, rois, 1.0, 2, 2)
    print(y, y.grad_fn.name())
    y.square().sum().backward()
    print(x.grad)
    print(torch.autograd.gradcheck(lambda x: ops.roi_pool(x, rois, 0.5, 2, 1), (x,)))
    print(ops.roi_pool(x.half(), rois.half(), 1.0, 1, 2).dtype)
    for call in (
        lambda: ops.nms(dets[0], scores, 0.5),
        lambda: ops.nms(dets, scores[1:], 0.5),
        lambda: ops.roi_pool(x.float(), rois, 1.0, 2, 2),
    ):
        try:
            call()
        except RuntimeError as error:
            print(str(error).splitlines()[0])
