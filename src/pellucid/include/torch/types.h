// PyTorch's name of pellucid/torch/all.h.
#pragma once

#include "pellucid/torch/all.h"
